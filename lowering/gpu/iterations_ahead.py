"""The attributes of branches whose operations belong to another iteration than that in which they are executed."""

from __future__ import annotations

from tilec.dialect.mlir import ir

_NAME, _FIRST = "tile_gpu.iterations_ahead", "tile_gpu.first_iteration"


def set_iterations_ahead(branch: ir.Operation, count: int) -> None:
    """Marks an scf.if whose operations are for the iteration `count` after the present one."""
    branch.attributes[_NAME] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)


def iterations_ahead(branch: ir.Operation) -> int:
    """The iterations between a branch and its operations; 0 without the attribute."""
    return ir.IntegerAttr(branch.attributes[_NAME]).value if _NAME in branch.attributes else 0


def set_first_iteration(branch: ir.Operation) -> None:
    """Marks an scf.if in front of a loop with operations of its first iteration, which the loop does not repeat."""
    branch.attributes[_FIRST] = ir.UnitAttr.get()


def is_first_iteration(branch: ir.Operation) -> bool:
    """Whether a branch has operations of the first iteration of the loop that follows."""
    return _FIRST in branch.attributes
