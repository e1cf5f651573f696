"""The attribute of operations that belong to a later iteration, and of the loop that contains them.

That loop has as many iterations less: those operations of the first are in front of it, other ones of the last behind.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ITERATIONS_AHEAD


def set_iterations_ahead(op: ir.Operation, count: int) -> None:
    """Marks an operation for the iteration `count` after the present one, or a loop with so many iterations less."""
    op.attributes[ITERATIONS_AHEAD] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def iterations_ahead(op: ir.Operation) -> int:
    """The iterations between an operation and the loop around it; 0 without the attribute."""
    return ir.IntegerAttr(op.attributes[ITERATIONS_AHEAD]).value if ITERATIONS_AHEAD in op.attributes else 0
