"""Reductions of a large tile that is computed from its broadcast rows and columns -> reductions of its slices.

%s = reduce %y dim=1, where %y = subf (broadcast %x : tile<1x128xf32>), (broadcast %r : tile<128x1xf32>)
->  %s0 = reduce %y0 dim=1, where %y0 : tile<128x16xf32> is computed from an eighth of %x, and likewise the others;
    %s = reduce (cat %s0, %s1, .. %s7) dim=1

Threads then compute, and reduce, some elements of their rows before the next ones: the whole tile needs more registers
than a thread has. Reductions of one block that share operands are divided together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named, reached
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES
from tilec.lowering.tile.analysis.tile_parts import joined, reshaped
from tilec.lowering.tile.divide.slices import Divided, Slice, Slicer, operand_dimensions, sliced_operands

# Elements of a slice: 16 of each thread of four warps, for which several values are live at once.
SLICE_ELEMENTS = 2048
# Slices of fewer elements of a row are less than a sector of f32.
_LEAST_EXTENT = 8
_LOAD = "cuda_tile.load_view_tko"


def divide_reductions(module: ir.Module) -> None:
    """Changes a module in place; the whole tiles that nothing uses any more are left to `remove-dead`."""
    for entry in operations_named(module, ("cuda_tile.entry",)):
        if operations_named(entry, MULTIPLIES):
            continue
        groups: list[list[ir.OpView]] = []
        for op in operations_named(entry, ("cuda_tile.reduce",)):
            if _is_large(op) and _is_computed(op):
                group = next((each for each in groups if _joins(each, op)), None)
                groups.append([op]) if group is None else group.append(op)
        for group in groups:
            _divide(group)


def _extent(op: ir.OpView) -> int:
    """The extent of the slices of the operands of a reduction."""
    shape = op.operation.operands[0].type.shape
    size, rows = shape[op.dim], math.prod(shape) // shape[op.dim]
    while rows * size > SLICE_ELEMENTS and size > _LEAST_EXTENT:
        size //= 2
    return size


def _is_large(op: ir.OpView) -> bool:
    """Whether a reduction has more elements than threads can hold beside the values that they are computed from."""
    shape = op.operation.operands[0].type.shape
    return len(shape) > 1 and _extent(op) < shape[op.dim]


def _reached(op: ir.OpView) -> Iterator[Divided]:
    """The values whose slices are needed for those of the operands, the operands included."""
    first = Slice(op.dim, 0, _extent(op))
    for operand in op.operation.operands:
        yield from reached((operand, op.dim), partial(_sliced, first))


def _sliced(first: Slice, divided: Divided) -> list[Divided]:
    value, along = divided
    return sliced_operands(value, replace(first, dimension=along)) or []


def _is_computed(op: ir.OpView) -> bool:
    """Whether slices are computed in the block of the reduction from values that are much smaller than the tile."""
    first = Slice(op.dim, 0, _extent(op))
    tile = math.prod(op.operation.operands[0].type.shape)
    broadcasts = 0
    for value, along in _reached(op):
        if sliced_operands(value, replace(first, dimension=along)) is None:
            return False
        owner = value.owner.operation
        if owner.name == _LOAD and (owner.block != op.operation.block or math.prod(value.type.shape) * 2 > tile):
            return False
        broadcasts += owner.name == "cuda_tile.broadcast"
    return broadcasts > 0


def _joins(group: Collection[ir.OpView], op: ir.OpView) -> bool:
    """Whether slices for a reduction can be computed where those of a group are: at its first reduction."""
    first = next(iter(group)).operation
    if first.block != op.operation.block or _extent(first.opview) != _extent(op) or first.opview.dim != op.dim:
        return False
    if tuple(first.operands[0].type.shape) != tuple(op.operation.operands[0].type.shape):
        return False
    return all(_is_before(value, first) for value, along in _reached(op) for value in _whole_operands(value, along))


def _whole_operands(value: ir.Value, along: int) -> list[ir.Value]:
    """The operands that each slice of a value needs whole."""
    op = value.owner
    dimensions = operand_dimensions(op, along) if op.operation.name != _LOAD else None
    operands = list(op.operation.operands)
    return operands if dimensions is None else [each for each, d in zip(operands, dimensions, strict=True) if d is None]


def _is_before(value: ir.Value, first: ir.Operation) -> bool:
    """Whether a value is defined before an operation of a block, or around the block."""
    if isinstance(value.owner, ir.Block):
        return True
    owner = value.owner.operation
    return owner.block != first.block or owner.is_before_in_block(first)


# ---- the rewrite


def _divide(group: list[ir.OpView]) -> None:
    first, size = group[0].operation, _extent(group[0])
    slicer = Slicer({each for op in group for each in _reached(op)})
    count = first.operands[0].type.shape[group[0].dim] // size
    with ir.InsertionPoint(first):
        parts = [[_part(op, slicer, Slice(op.dim, number, size)) for op in group] for number in range(count)]
        for op, results in zip(group, zip(*parts, strict=True), strict=True):
            with op.location:
                operands = [_joined(list(column), op.dim) for column in zip(*results, strict=True)]
            whole = _with_operands(op, operands)
            for old, new in zip(op.operation.results, whole.results, strict=True):
                old.replace_all_uses_with(new)
    for op in group:
        op.operation.erase()


def _part(op: ir.OpView, slicer: Slicer, wanted: Slice) -> list[ir.Value]:
    return list(_with_operands(op, [slicer.slice_of(operand, wanted) for operand in op.operation.operands]).results)


def _with_operands(op: ir.OpView, operands: list[ir.Value]) -> ir.Operation:
    """The reduction of other operands, at the insertion point."""
    made = op.operation.clone()
    for number, operand in enumerate(operands):
        made.operands[number] = operand
    return made


def _joined(results: list[ir.Value], dimension: int) -> ir.Value:
    """The results of the slices, in their order, along a dimension."""
    first = results[0].type
    before, after = tuple(first.shape)[:dimension], tuple(first.shape)[dimension:]
    parts = [reshaped(each, (*before, 1, *after)) for each in results]
    return joined(parts, TileType.get((*before, len(results), *after), first.element))
