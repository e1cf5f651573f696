"""The attribute of a loop whose body is repeated: the copies execute one iteration each, with a test."""

from __future__ import annotations

from tilec.dialect.mlir import ir

_NAME = "tile_gpu.repeats"


def set_repeats(loop: ir.Operation, count: int) -> None:
    """Marks a loop whose body follows itself so many times in the code; one copy needs no attribute."""
    if count > 1:
        loop.attributes[_NAME] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def repeats(loop: ir.Operation) -> int:
    """The copies of the body of a loop."""
    return ir.IntegerAttr(loop.attributes[_NAME]).value if _NAME in loop.attributes else 1
