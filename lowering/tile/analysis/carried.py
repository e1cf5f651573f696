"""Rebuilds a loop or a branch without some of its carried values or results, or with parts of a carried tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.analysis.tile_operations import BREAK, CONTINUE, FOR, IF, YIELD, ends
from tilec.lowering.tile.analysis.tile_parts import Part, joined, positions, reshaped


def keep_results(op: ir.OpView, kept: Sequence[int]) -> None:
    """Rebuilds an `if` or a `loop` with only these results; the others must have no use."""
    is_if = op.operation.name == IF
    for end in ends(op, YIELD if is_if else BREAK):
        _shorten(end, kept)
    _remake(op, [op.condition] if is_if else list(op.initValues), kept)


def without_carried(op: ir.OpView, kept: Sequence[int]) -> None:
    """Rebuilds a `for` or a `loop` with only these carried values; the others have no use besides its continues."""
    is_for = op.operation.name == FOR
    for end in ends(op, CONTINUE):
        _shorten(end, kept)
    block, inits = op.body.blocks[0], list(op.initValues)
    for index in reversed(range(len(inits))):
        if index not in kept:
            block.erase_argument(index + is_for)
    given = [inits[index] for index in kept]
    if is_for:
        _remake(op, [op.lowerBound, op.upperBound, op.step, given], kept)
    else:
        _remake(op, given, range(len(op.operation.results)))


def _shorten(end: ir.OpView, kept: Sequence[int]) -> None:
    operands = list(end.operation.operands)
    with ir.InsertionPoint(end.operation), end.location:
        build(end.operation.name, [operands[index] for index in kept], attributes=attributes_without_segments(end))
    end.operation.erase()


def _remake(op: ir.OpView, operands: Sequence[ir.Value | list[ir.Value]], kept: Sequence[int]) -> None:
    results = [op.operation.results[index] for index in kept]
    with ir.InsertionPoint(op.operation), op.location:
        made = build(op.operation.name, operands, [result.type for result in results], attributes_without_segments(op))
    move_regions(op.operation, made)
    for result, value in zip(results, made.results, strict=True):
        result.replace_all_uses_with(value)
    op.operation.erase()


def move_regions(source: ir.Operation, target: ir.Operation) -> None:
    """Moves the blocks of an operation into the empty regions of another one."""
    for old, new in zip(source.regions, target.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)


def split_carried(
    loop: ir.OpView, index: int, parts: Mapping[ir.OpView, Part], carried_shape: Sequence[int] | None = None
) -> None:
    """Rebuilds a `for` with the parts of a carried tile in place of the tile.

    Args:
        loop: the loop.
        index: the number of the tile among the carried values.
        parts: the uses of the tile, all extracts, or reshapes of the whole tile.
        carried_shape: the shape in which the parts are carried; by default theirs without leading extents of one.
    """
    block, whole = loop.body.blocks[0], loop.carried[index]
    shape = next(iter(parts.values())).shape
    carried_shape = _stripped(shape) if carried_shape is None else carried_shape
    grid = [Part(whole, position, shape) for position in positions(next(iter(parts.values())).counts)]
    for end in ends(loop, CONTINUE):
        given = list(end.operation.operands)
        with ir.InsertionPoint(end.operation), end.location:
            given = _divided(given, index, grid, carried_shape)
            build(end.operation.name, given, attributes=attributes_without_segments(end))
        end.operation.erase()
    with ir.InsertionPoint(loop.operation), loop.location:
        initial = _divided(list(loop.initValues), index, grid, carried_shape)
        operands = [loop.lowerBound, loop.upperBound, loop.step, initial]
        types = [value.type for value in initial]
        made = build(loop.operation.name, operands, types, attributes_without_segments(loop))
        results = list(made.results)
        tail = len(results) - len(grid)
        of_parts = [reshaped(value, shape) for value in results[tail:]]
        kept = [*results[:index], joined(of_parts, whole.type), *results[index:tail]]
    arguments = {
        part.position: block.add_argument(initial[tail + n].type, loop.location) for n, part in enumerate(grid)
    }
    for use, part in parts.items():
        with ir.InsertionPoint(use.operation), use.location:
            use.result.replace_all_uses_with(reshaped(arguments[part.position], use.result.type.shape))
        use.operation.erase()
    block.erase_argument(index + 1)
    block.append_to(made.regions[0])
    replace(loop, kept)


def _divided(values: list[ir.Value], index: int, grid: Sequence[Part], carried_shape: Sequence[int]) -> list[ir.Value]:
    """The values without number `index`, then its parts in the shape in which they are carried."""
    parts = [Part(values[index], part.position, part.shape).extracted() for part in grid]
    return [*values[:index], *values[index + 1 :], *(reshaped(part, carried_shape) for part in parts)]


def _stripped(shape: Sequence[int]) -> list[int]:
    return list(shape)[next((d for d, extent in enumerate(shape) if extent > 1), len(shape)) :]
