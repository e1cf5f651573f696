"""The attribute of loops that no schedule makes shorter: one pass finds out, and the next one leaves them alone."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.lowering.gpu.loop_parts import LoopPart

_NAME = "tile_gpu.bound"


def set_bound(parts: Iterable[LoopPart]) -> None:
    """Marks the loops of all parts, of which passes replace some."""
    for part in parts:
        part.loop.operation.attributes[_NAME] = ir.UnitAttr.get(part.loop.operation.context)


def take_bound(parts: Iterable[LoopPart]) -> bool:
    """Whether one of the loops is marked; removes the marks."""
    marked = [part.loop.operation.attributes for part in parts if _NAME in part.loop.operation.attributes]
    for attributes in marked:
        if _NAME in attributes:
            del attributes[_NAME]
    return bool(marked)
