"""Hoists loop-invariant operations whose execution has no side effect and is always defined."""

from __future__ import annotations

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import inner_operations, is_within, operations_named, used_by
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import LOOPS
from tilec.lowering.tile.analysis.tile_parts import part_of

# Free of effects, although not marked pure because of their regions, views or divisors.
_ALSO_PURE = (
    *("cuda_tile.reduce", "cuda_tile.scan", "cuda_tile.make_tensor_view", "cuda_tile.yield"),
    *("cuda_tile.divi", "cuda_tile.remi"),
)
# Undefined for the divisor 0, and for the least integer by -1.
_DIVISIONS = ("divi", "remi")


def hoist_invariants(module: ir.Module) -> None:
    """Hoists speculatable operations; a loop may run zero times, so operations that can be undefined stay."""
    for loop in operations_named(module, LOOPS, innermost_first=True):
        for op in list(loop.body.blocks[0].operations):
            if is_speculatable(op) and not _depends_on(op, loop.operation):
                op.operation.move_before(loop.operation)


def may_be_undefined(op: ir.OpView) -> bool:
    """Whether some operands make the operation undefined, so that it must not run speculatively."""
    name = op.operation.name.removeprefix("cuda_tile.")
    if name in _DIVISIONS:
        return splat(op.rhs) in (None, 0, -1)
    if name in ("shli", "shri") and splat(op.rhs) not in range(ELEMENT_BITS[spell(op.result.type.element)]):
        return True
    if name == "ftoi":
        return not op.saturating
    if name == "extract":
        return part_of(op) is None
    return name == "insert" or getattr(op, "overflow", "none") != "none"


def is_speculatable(op: ir.OpView) -> bool:
    """Whether the program may execute an operation more often: it is always defined and has no effect."""
    if op.operation.has_trait(ir.IsTerminatorTrait) and not _ends_a_reduction(op):
        return False
    # Only operations defined in Python carry their traits as data.
    if ext.Pure not in getattr(op, "_traits", ()) and op.operation.name not in _ALSO_PURE:
        return False
    if may_be_undefined(op):
        return False
    return all(is_speculatable(inner) for inner in inner_operations(op))


def _ends_a_reduction(op: ir.OpView) -> bool:
    return op.operation.parent.operation.name in ("cuda_tile.reduce", "cuda_tile.scan")


def _depends_on(op: ir.OpView, loop: ir.Operation) -> bool:
    """Whether an operand of the operation, or of one inside it, is defined within the loop but not within itself."""
    return any(is_within(operand, loop) and not is_within(operand, op) for operand in used_by([op.operation]))
