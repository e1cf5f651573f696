"""The attribute of a loop whose body is repeated: the copies execute one iteration each, with a test."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import REPEATS


def set_repeats(loop: ir.Operation, count: int) -> None:
    """Marks a loop whose body follows itself so many times in the code; one copy needs no attribute."""
    if count > 1:
        loop.attributes[REPEATS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def repeats(loop: ir.Operation) -> int:
    """The copies of the body of a loop."""
    return ir.IntegerAttr(loop.attributes[REPEATS]).value if REPEATS in loop.attributes else 1
