"""Reductions and scans of a tile along a dimension."""

from tilec.dialect.attributes import Array, Boolean, Int32
from tilec.dialect.cuda_tile.operation import NoMemoryEffect, Operation
from tilec.dialect.cuda_tile.reduction_rules import body_problem, reduced_type, shape_problem
from tilec.dialect.cuda_tile.sets import AnyTile
from tilec.dialect.fields import MANY_RUNS, Mixed, Operand, Region, Result


class ReduceOp(Operation, name="reduce", opcode=0x58, traits=[NoMemoryEffect]):
    """The reduction along dim, in no specified order, by the body, which takes (element, accumulator) of each operand.

    `identities` promise body(x, identity) = x. One element is its own reduction: the body does not run.
    """

    results: Mixed[Result[AnyTile], MANY_RUNS]
    operands: Mixed[Operand[AnyTile], MANY_RUNS]
    dim: Int32
    identities: Array
    body: Region

    def check(self) -> str | None:
        return shape_problem(self, reduced_type)

    def check_regions(self) -> str | None:
        return body_problem(self)


class ScanOp(Operation, name="scan", opcode=0x5E, traits=[NoMemoryEffect]):
    """The inclusive prefix reduction along dim, from the last index down where `reverse`; `identities` as of reduce."""

    results: Mixed[Result[AnyTile], MANY_RUNS]
    operands: Mixed[Operand[AnyTile], MANY_RUNS]
    dim: Int32
    reverse: Boolean
    identities: Array
    body: Region

    def check(self) -> str | None:
        return shape_problem(self, lambda tile, dim: tile)

    def check_regions(self) -> str | None:
        return body_problem(self)
