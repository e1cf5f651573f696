"""Rules for equal layouts of the register tiles of an operation."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.cache import table
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.verify import types_only
from tilec.dialect.walk import operations_inside


def unlike_layouts(values: Iterable[ir.Value]) -> str | None:
    """The problem if two tiles of one shape have different layouts, or None."""
    tiles = [value.type for value in values if is_register_tile(value.type)]
    for tile in tiles[1:]:
        if tile.encoding != tiles[0].encoding:
            return (
                f"the tiles must have one layout, but got {tiles[0].encoding} and {tile.encoding}: "
                "convert one with tile_gpu.convert_layout"
            )
    return None


@types_only
def operands_agree(op: ir.OpView) -> str | None:
    """The rule that all tile operands have equal layouts."""
    return unlike_layouts(op.operation.operands)


@types_only
def operands_and_results_agree(op: ir.OpView) -> str | None:
    """The rule that all tile operands and results have equal layouts."""
    return unlike_layouts([*op.operation.operands, *op.operation.results])


def upstream_disagreement(kernel: ir.OpView) -> str | None:
    """The problem with the first operation of arith or math in a kernel that mixes layouts, or None."""
    for operation in operations_inside(kernel):
        # The results of operations on tiles are tiles.
        if operation.name.startswith(_ELEMENTWISE_DIALECTS) and is_register_tile(operation.results[0].type):
            types = tuple([value.type for values in (operation.operands, operation.results) for value in values])
            if types in _ALIKE:
                continue
            wrong = operands_and_results_agree(operation)
            if wrong is not None:
                return f"'{operation.name}': {wrong}"
            _ALIKE[types] = None
    return None


# Types of operands and results whose layouts agree.
_ALIKE: dict[tuple[ir.Type, ...], None] = table()
# Upstream verifies shapes of these dialects, and layouts of some operations only.
_ELEMENTWISE_DIALECTS = ("arith.", "math.")
