"""The attribute of loops that no schedule makes shorter: one pass finds out, and the next one leaves them alone."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import BOUND
from tilec.lowering.gpu.ir.enclosing import LOOPS, path_to
from tilec.lowering.gpu.loops.loop_parts import LoopPart


def set_bound(parts: Iterable[LoopPart]) -> None:
    """Marks the loops of all parts, of which passes replace some."""
    for part in parts:
        part.loop.operation.attributes[BOUND] = ir.UnitAttr.get(part.loop.operation.context)


def is_bound(parts: Iterable[LoopPart]) -> bool:
    """Whether one of the loops is marked."""
    return any(BOUND in part.loop.operation.attributes for part in parts)


def is_in_open_loop(op: ir.Operation) -> bool:
    """Whether an operation is in loops of which none is marked."""
    loops = [outer for outer in path_to(op) if outer.name in LOOPS]
    return bool(loops) and not any(BOUND in loop.attributes for loop in loops)


def remove_marks(operations: Iterable[ir.Operation]) -> None:
    """Removes the marks of the loops among some operations."""
    for op in operations:
        if op.name == "scf.for" and BOUND in op.attributes:
            del op.attributes[BOUND]
