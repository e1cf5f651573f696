"""The values of a kernel that are equal in all CTAs of a cluster, of one tile block or of adjacent ones."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.claims import ClaimedBlockOp
from tilec.dialect.tile_gpu.operations.global_memory import GlobalAddressOp
from tilec.dialect.tile_gpu.operations.kernel import ClusterRankOp, ClusterSizeOp, KernelOp, NumProgramsOp, ProgramIdOp
from tilec.dialect.tile_gpu.operations.shape import ExtractOp, SplatOp
from tilec.dialect.tile_gpu.operations.tensor_map import ListWordOp, MakeTensorMapOp
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp
from tilec.dialect.walk import operations_inside, owner_of, reached_from, terminator_of
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.ir.enclosing import path_to

_PROGRAM_ID, _CLAIMED = ProgramIdOp.OPERATION_NAME, ClaimedBlockOp.OPERATION_NAME
_EQUAL = (
    *(_PROGRAM_ID, NumProgramsOp.OPERATION_NAME, ClusterSizeOp.OPERATION_NAME),
    *(GlobalAddressOp.OPERATION_NAME, ListWordOp.OPERATION_NAME, MakeTensorMapOp.OPERATION_NAME, _CLAIMED),
    *(SplatOp.OPERATION_NAME, ExtractOp.OPERATION_NAME),
)
_EQUAL_DIALECTS = ("arith.", "math.", "scf.")
# The operands of scf.for before the carried values.
_BOUNDS = 3


class EqualValues:
    """Knows which scalars derive from the arguments, constant memory and the position of the tile block alone.

    With `along` the CTAs have a tile block each, and these are adjacent along that axis of the grid. With `in_pairs`
    the values are equal in both CTAs of each pair, whose ranks differ in the last bit.
    """

    def __init__(self, kernel: KernelOp, along: int | None = None, *, in_pairs: bool = False) -> None:
        self._along = along
        self._in_pairs = in_pairs
        unequal = [value for op in operations_inside(kernel) if not self._is_equal(op) for value in op.results]
        self._different = set(reached_from(unequal, self._derived))

    def _derived(self, value: ir.Value) -> Iterator[ir.Value]:
        """The values that differ if a value does."""
        for use in value.uses:
            user = use.owner.operation
            if user.name != _CLAIMED and not (self._in_pairs and _is_number_of_pair(user)):
                yield from _derived(user, use.operand_number)

    def _is_equal(self, op: ir.Operation) -> bool:
        if op.name == _PROGRAM_ID and op.opview.axis == self._along:
            return False
        is_constant = op.name == LoadGlobalOp.OPERATION_NAME and op.opview.constant
        return is_constant or op.name in _EQUAL or op.name.startswith(_EQUAL_DIALECTS)

    def has(self, value: ir.Value) -> bool:
        return value not in self._different

    def runs_alike(self, op: ir.Operation) -> bool:
        """Whether all CTAs execute an operation equally often: no loop or branch around it depends on the CTA."""
        for outer in path_to(op)[:-1]:
            decisions = outer.operands[:_BOUNDS] if outer.name == "scf.for" else outer.operands
            if outer.name == "scf.while":
                decisions = terminator_of(outer.regions[0].blocks[0]).operands[:1]
            if not all(map(self.has, decisions)):
                return False
        return True


def _is_number_of_pair(op: ir.Operation) -> bool:
    """Whether an operation shifts the rank of a CTA to the right by a constant that is not zero."""
    if op.name != "arith.shrui":
        return False
    rank = owner_of(op.operands[0])
    return rank is not None and rank.name == ClusterRankOp.OPERATION_NAME and bool(constant_of(op.operands[1]))


def _derived(op: ir.Operation, number: int) -> list[ir.Value]:
    """The values that differ if an operand of an operation does."""
    if op.name == "scf.for":
        body = list(op.regions[0].blocks[0].arguments)
        if number < _BOUNDS:
            return [*op.results, *body]
        return [op.results[number - _BOUNDS], body[number - _BOUNDS + 1]]
    if op.name == "scf.yield" and op.parent.operation.name == "scf.for":
        return _derived(op.parent.operation, number + _BOUNDS)
    if op.name == "scf.yield" and op.parent.operation.name == "scf.if":
        return [op.parent.operation.results[number]]
    around = op.parent.operation if op.name in ("scf.yield", "scf.condition") else op
    arguments = [argument for region in around.regions for block in region.blocks for argument in block.arguments]
    return [*around.results, *arguments]
