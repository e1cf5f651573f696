"""The attribute of a branch whose operations belong to a later iteration than that of the loop around it."""

from __future__ import annotations

from tilec.dialect.mlir import ir

_NAME = "tile_gpu.iterations_ahead"


def set_iterations_ahead(branch: ir.Operation, count: int) -> None:
    """Marks an scf.if whose operations are for the iteration `count` after the present one."""
    branch.attributes[_NAME] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def iterations_ahead(branch: ir.Operation) -> int:
    """The iterations between a branch and its operations; 0 without the attribute."""
    return ir.IntegerAttr(branch.attributes[_NAME]).value if _NAME in branch.attributes else 0
