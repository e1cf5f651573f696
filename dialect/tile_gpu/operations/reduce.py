"""Reductions and scans over one dimension of register tiles."""

from tilec.dialect.attributes import Array, Boolean, Int32
from tilec.dialect.fields import Mixed, Operand, Region, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Interface, Scratch
from tilec.dialect.tile_gpu.layouts import operands_agree, operands_and_results_agree
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Anything, RegisterTile


class ReduceOp(Operation, name="reduce"):
    """Reduces along `dimension`; the body takes (element, accumulator) of each operand and yields the new accumulators.

    The result layout is the operand layout without the dimension; the result of a tile of one dimension is a scalar.
    `identities` assert body(x, identity) = x; no result contains them. The body is associative: it joins the blocks of
    neighbours, the later one as the element, unless it is known to commute.
    """

    interface = Interface(Category.ARITHMETIC, scratch=Scratch.OF_MOVED, is_pure=True)
    folded: Mixed[Result[Anything], 32]
    sources: Mixed[Operand[RegisterTile], 32]
    dimension: Int32
    identities: Array
    body: Region
    rules = [operands_agree]


class ScanOp(Operation, name="scan"):
    """Inclusive prefix reduction along `dimension`, from the last index down if `reverse`."""

    interface = Interface(Category.ARITHMETIC, is_pure=True)
    folded: Mixed[Result[RegisterTile], 32]
    sources: Mixed[Operand[RegisterTile], 32]
    dimension: Int32
    reverse: Boolean
    identities: Array
    body: Region
    rules = [operands_and_results_agree]


class YieldOp(Operation, name="yield", traits=[ir.IsTerminatorTrait, ext.Pure]):
    """The new accumulators of a reduction or scan."""

    interface = Interface(Category.STRUCTURE, scratch=Scratch.NONE, is_pure=True)
    values: Mixed[Operand[Anything], 32]
