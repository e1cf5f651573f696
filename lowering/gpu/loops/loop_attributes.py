"""Attributes that passes give to loops, and to operations inside of them.

`iterations_ahead`: the operation belongs to a later iteration. Its loop has that attribute too, and as many iterations
less: those operations of the first ones are before it, the others of the last ones after it.
`repeats`: the body follows itself in the code; each copy executes one iteration, with a test.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ITERATIONS_AHEAD, REPEATS


def set_iterations_ahead(op: ir.Operation, count: int) -> None:
    """Marks an operation for the iteration `count` after the present one, or a loop with `count` iterations less."""
    op.attributes[ITERATIONS_AHEAD] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def iterations_ahead(op: ir.Operation) -> int:
    """The iterations between an operation and the loop around it; 0 without the attribute."""
    return ir.IntegerAttr(op.attributes[ITERATIONS_AHEAD]).value if ITERATIONS_AHEAD in op.attributes else 0


def set_repeats(loop: ir.Operation, count: int) -> None:
    """Marks a loop whose body follows itself `count` times in the code; one copy needs no attribute."""
    if count > 1:
        loop.attributes[REPEATS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def repeats(loop: ir.Operation) -> int:
    """The copies of the body of a loop."""
    return ir.IntegerAttr(loop.attributes[REPEATS]).value if REPEATS in loop.attributes else 1
