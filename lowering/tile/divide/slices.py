"""Slices of tiles along one dimension, computed from slices of the operands of the operations that make the tiles.

    %y = addf %x, %b;  the slice of %y   ->   addf of the slices of %x and %b

A value that cannot be computed in slices is extracted from the whole tile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.constants import integer_splat, splat_attribute, splat_constant
from tilec.lowering.tile.analysis.part_access import (
    divides_bytes,
    has_whole_sectors,
    is_divisible_access,
    load_part,
    view_of_parts,
)
from tilec.lowering.tile.analysis.tile_operations import is_elementwise
from tilec.lowering.tile.analysis.tile_parts import Part, same_dimension

# One per operand: the dimension along which it is divided, or None if each part needs the whole operand.
Dimensions = tuple[int | None, ...]
# Computing a slice of these again is as cheap as taking it from the whole tile.
REPEATABLE = frozenset(f"cuda_tile.{name}" for name in ("constant", "iota", "broadcast", "reshape", "cat"))


# A value and the dimension along which it is divided.
Divided = tuple[ir.Value, int]


@dataclass(frozen=True)
class Slice:
    """The elements `number * size` to `(number + 1) * size - 1` of a tile along a dimension."""

    dimension: int
    number: int
    size: int

    def part(self, tile: ir.Value) -> Part:
        """The slice as a part of a tile."""
        shape = tuple(self.size if d == self.dimension else extent for d, extent in enumerate(tile.type.shape))
        position = tuple(self.number if d == self.dimension else 0 for d in range(tile.type.rank))
        return Part(tile, position, shape)


def sliced_operands(value: ir.Value, wanted: Slice) -> list[Divided] | None:
    """The operands whose slices a slice of a value is computed from; None if it must be extracted from the whole."""
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    leaf = _LEAVES.get(op.operation.name)
    if leaf is not None:
        return [] if leaf.accepts(value, wanted) else None
    if _is_joined_along(op, wanted):
        return [(op.lhs, op.dim), (op.rhs, op.dim)]
    return divided_operands(op, wanted.dimension)


def _is_joined_along(op: ir.OpView, wanted: Slice) -> bool:
    """Whether each slice of a cat is a slice of one of its operands."""
    if op.operation.name != "cuda_tile.cat" or op.dim != wanted.dimension:
        return False
    return op.lhs.type.shape[op.dim] % wanted.size == 0 == op.rhs.type.shape[op.dim] % wanted.size


class Slicer:
    """Makes slices at the insertion point, each once; those of `computed` values from slices of their operands."""

    def __init__(self, computed: Collection[Divided]) -> None:
        self._computed = computed
        self._made: dict[tuple[ir.Value, Slice], ir.Value] = {}

    def slice_of(self, value: ir.Value, wanted: Slice) -> ir.Value:
        """A slice of a tile."""
        key = value, wanted
        if key not in self._made:
            self._made[key] = self._computed_slice(value, wanted)
        return self._made[key]

    def _computed_slice(self, value: ir.Value, wanted: Slice) -> ir.Value:
        if (value, wanted.dimension) not in self._computed:
            return wanted.part(value).extracted()
        op = value.owner
        with op.location:
            leaf = _LEAVES.get(op.operation.name)
            if leaf is not None:
                return leaf.make(value, wanted)
            if _is_joined_along(op, wanted):
                before = op.lhs.type.shape[op.dim] // wanted.size
                if wanted.number < before:
                    return self.slice_of(op.lhs, wanted)
                return self.slice_of(op.rhs, replace(wanted, number=wanted.number - before))
            dimensions = operand_dimensions(op, wanted.dimension) or ()
            operands = [
                operand if d is None else self.slice_of(operand, replace(wanted, dimension=d))
                for operand, d in zip(op.operation.operands, dimensions, strict=True)
            ]
            type = TileType.get(wanted.part(value).shape, value.type.element)
            return build(op.operation.name, operands, [type], attributes_without_segments(op)).result


@dataclass(frozen=True)
class _Leaf:
    """An operation whose slices need no slices of operands: whether it can make one, and how."""

    accepts: Callable[[ir.Value, Slice], bool]
    make: Callable[[ir.Value, Slice], ir.Value]


def _constant(value: ir.Value, wanted: Slice) -> ir.Value:
    type = TileType.get(wanted.part(value).shape, value.type.element)
    return splat_constant(type, splat_attribute(value))


def _iota(value: ir.Value, wanted: Slice) -> ir.Value:
    type = TileType.get((wanted.size,), value.type.element)
    numbers = build("iota", [], [type]).result
    if wanted.number == 0:
        return numbers
    return build("addi", [numbers, integer_splat(type, wanted.number * wanted.size)], [type]).result


def _is_movable_load(value: ir.Value, wanted: Slice) -> bool:
    """Whether a tile is loaded by parts of at least one sector, and no other access waits for the load."""
    return not list(value.owner.operation.results[1].uses) and is_loaded_by_parts(value, wanted)


def is_loaded_by_parts(value: ir.Value, wanted: Slice) -> bool:
    """Whether a tile may be loaded by parts of at least one sector."""
    op, part = value.owner, wanted.part(value)
    if not is_divisible_access(op) or divides_bytes(op.view.type, part.shape):
        return False
    return has_whole_sectors(op.view.type, part)


def _load(value: ir.Value, wanted: Slice) -> ir.Value:
    part = wanted.part(value)
    return load_part(value.owner, view_of_parts(value.owner.view, part.shape), part).results[0]


_LEAVES = {
    "cuda_tile.constant": _Leaf(lambda value, wanted: splat_attribute(value) is not None, _constant),
    "cuda_tile.iota": _Leaf(lambda value, wanted: True, _iota),
    "cuda_tile.load_view_tko": _Leaf(_is_movable_load, _load),
}


def operand_dimensions(op: ir.OpView, dimension: int) -> Dimensions | None:
    """The dimensions for an operation without effects and with one result; None if its parts are not such operations.

    A part of the result is then the operation on the same parts of the operands, with the same attributes.
    """
    rule = _RULES.get(op.operation.name.removeprefix("cuda_tile."))
    if rule is not None:
        return rule(op, dimension)
    if len(op.operation.results) != 1 or not is_elementwise(op) or not effect_free(op):
        return None
    return tuple(dimension if value.type.rank > 0 else None for value in op.operation.operands)


def divided_operands(op: ir.OpView, dimension: int) -> list[tuple[ir.Value, int]] | None:
    """The operands that are divided, each with its dimension; None if parts of the result are not computed in parts."""
    dimensions = operand_dimensions(op, dimension)
    if dimensions is None:
        return None
    return [(operand, d) for operand, d in zip(op.operation.operands, dimensions, strict=True) if d is not None]


def _reshape(op: ir.OpView, dimension: int) -> Dimensions | None:
    kept = same_dimension(op.result.type.shape, op.source.type.shape, dimension)
    return None if kept is None else (kept,)


_RULES: dict[str, Callable[[ir.OpView, int], Dimensions | None]] = {
    "broadcast": lambda op, dimension: (None if op.source.type.shape[dimension] == 1 else dimension,),
    "permute": lambda op, dimension: (list(op.permutation)[dimension],),
    "reshape": _reshape,
    "cat": lambda op, dimension: None if op.dim == dimension else (dimension, dimension),
}
