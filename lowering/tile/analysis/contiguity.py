"""Contiguity analysis: consecutive, equal and divisible elements of tiles along each dimension."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.contiguity_rules import (
    ADDRESS_RULES,
    ELEMENT_RULES,
    SHAPE_RULES,
    Axes,
    Axis,
    equal_elements,
)
from tilec.lowering.tile.analysis.divisibility import divisibility, step_bytes
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    IF,
    LOOPS,
    ends,
    is_tile_operation,
    yields,
)

# Loop-carried values reach a fixed point in a few iterations, or count as unknown.
_ITERATIONS = 8
# Pure and, for square matrices, of one shape, but not elementwise.
_PRODUCTS = ("mmaf", "tilex.mmaf", "mmai", "mmaf_scaled", "tilex.mmaf_scaled")


def contiguity(entry: ir.OpView) -> dict[ir.Value, Axes]:
    """The facts about each tile of integers or pointers, and the constancy of other tiles, in an entry."""
    known: dict[ir.Value, Axes] = {}
    _Analysis(known).block(entry.operation.regions[0].blocks[0])
    return known


def unknown(type: TileType) -> Axes:
    """No facts."""
    return (Axis(unit=_unit(type)),) * (type.rank + 1)


def _unit(type: TileType) -> int:
    """The difference of consecutive elements; 0 for half a byte."""
    if not isinstance(type.element, PointerType):
        return 1
    return 0 if spell(type.element.element) == "f4E2M1FN" else step_bytes(type.element)


def _meet(all_axes: Iterable[Axes]) -> Axes:
    first, *others = all_axes
    for axes in others:
        first = tuple(a.meet(b) for a, b in zip(first, axes, strict=True))
    return first


class _Analysis:
    """A forward walk over an entry that repeats loops until the facts about carried values hold in every iteration."""

    def __init__(self, known: dict[ir.Value, Axes]) -> None:
        self.known = known

    def block(self, block: ir.Block) -> None:
        for op in block.operations:
            name = op.operation.name
            if name == IF:
                for inner in (inner for region in op.operation.regions for inner in region.blocks):
                    self.block(inner)
                self._results(op, yields(op))
            elif name in LOOPS:
                self._loop(op)
            elif is_tile_operation(op.operation):
                self._operation(op, name.removeprefix("cuda_tile."))

    def of(self, value: ir.Value) -> Axes:
        """The facts about a tile."""
        found = self.known.get(value)
        return unknown(value.type) if found is None else found

    def _operation(self, op: ir.OpView, name: str) -> None:
        results = [result for result in op.operation.results if isinstance(result.type, TileType)]
        are_tiles = all(isinstance(value.type, TileType) for value in op.operation.operands)
        if len(op.operation.results) == 1 and results and are_tiles:
            self.known[results[0]] = _without_wrapping(self._axes(op, name, results[0].type), results[0].type)
            return
        for result in results:
            self.known[result] = unknown(result.type)
            if name == "get_tensor_shape":
                self.known[result] = (Axis(1, 1, divisibility(result)),)

    def _axes(self, op: ir.OpView, name: str, type: TileType) -> Axes:
        if name in ("alloca", "get_global"):
            return (Axis(1, 1, divisibility(op.result), _unit(type)),)
        operands = [self.of(value) for value in op.operation.operands]
        if name in SHAPE_RULES:
            return SHAPE_RULES[name](op, *operands)
        if name in ELEMENT_RULES:
            return tuple(ELEMENT_RULES[name](op, *axes) for axes in zip(*operands, strict=True))
        if name in ADDRESS_RULES:
            return tuple(ADDRESS_RULES[name](op, *axes, _unit(type)) for axes in zip(*operands, strict=True))
        alike = operands and all(value.type.shape == type.shape for value in op.operation.operands)
        if alike and name not in _PRODUCTS and ext.Pure in op._traits:
            return tuple(equal_elements(op, *axes) for axes in zip(*operands, strict=True))
        return unknown(type)

    def _loop(self, op: ir.OpView) -> None:
        is_for = op.operation.name == FOR
        block = op.operation.regions[0].blocks[0]
        carried = list(block.arguments)[is_for:]
        if is_for:
            start, step = self.of(op.lowerBound), self.of(op.step)
            self.known[block.arguments[0]] = _meet([start, step])
        for argument, initial in zip(carried, op.initValues, strict=True):
            if isinstance(argument.type, TileType):
                self.known[argument] = self.of(initial)
        self._iterate_to_fixed_point(block, carried, ends(op, CONTINUE))
        if is_for:
            for result, argument in zip(op.operation.results, carried, strict=True):
                if isinstance(result.type, TileType):
                    self.known[result] = self.of(argument)
        else:
            self._results(op, ends(op, BREAK))

    def _iterate_to_fixed_point(self, block: ir.Block, carried: list[ir.Value], continues: list[ir.OpView]) -> None:
        for iteration in range(_ITERATIONS + 1):
            before = {argument: self.of(argument) for argument in carried if isinstance(argument.type, TileType)}
            self.block(block)
            for index, argument in enumerate(carried):
                if argument in before:
                    continued = [self.of(end.operation.operands[index]) for end in continues]
                    self.known[argument] = _meet([before[argument], *continued])
            changed = [argument for argument in before if self.known[argument] != before[argument]]
            if not changed:
                return
            if iteration == _ITERATIONS - 1:
                for argument in before:
                    self.known[argument] = unknown(argument.type)

    def _results(self, op: ir.OpView, last: list[ir.OpView]) -> None:
        for index, result in enumerate(op.operation.results):
            if isinstance(result.type, TileType):
                given = [self.of(end.operation.operands[index]) for end in last]
                self.known[result] = _meet(given) if given else unknown(result.type)


def _without_wrapping(axes: Axes, type: TileType) -> Axes:
    """Limits runs to half the range of the type, so that an aligned run wraps neither as signed nor as unsigned."""
    bits = ELEMENT_BITS.get(spell(type.element)) if not isinstance(type.element, PointerType) else None
    if bits is None or bits > 32:
        return axes
    half = 1 << (bits - 1)
    return tuple(
        axis if axis.contiguity <= half else Axis(half, axis.constancy, axis.divisor(half), axis.unit) for axis in axes
    )
