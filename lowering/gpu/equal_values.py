"""The values of a kernel that are equal in all CTAs of the cluster."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_below

_EQUAL = ("tile_gpu.program_id", "tile_gpu.num_programs", "tile_gpu.global_address", "tile_gpu.make_tensor_map")
_EQUAL_DIALECTS = ("arith.", "math.", "scf.")


class EqualValues:
    """Knows which scalars derive from the arguments and the position of the tile block alone."""

    def __init__(self, kernel: KernelOp) -> None:
        self._different: set[ir.Value] = set()
        operations = [op.operation for op in operations_below(kernel)]
        pending = [value for op in operations if not _is_equal(op) for value in op.results]
        while pending:
            value = pending.pop()
            if value not in self._different:
                self._different.add(value)
                for use in value.uses:
                    pending += _derived(use.owner.operation, use.operand_number)

    def has(self, value: ir.Value) -> bool:
        return value not in self._different

    def runs_alike(self, op: ir.Operation) -> bool:
        """Whether all CTAs execute an operation equally often: no loop or branch around it depends on the CTA."""
        parent = op.parent.operation
        while parent.name != KernelOp.OPERATION_NAME:
            bounds = parent.operands[:3] if parent.name == "scf.for" else parent.operands
            if parent.name == "scf.while" or not all(map(self.has, bounds)):
                return False
            parent = parent.parent.operation
        return True


def _is_equal(op: ir.Operation) -> bool:
    return op.name in _EQUAL or op.name.startswith(_EQUAL_DIALECTS)


# The operands of scf.for before the carried values.
_BOUNDS = 3


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
