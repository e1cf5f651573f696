"""Tensor maps declared at the top of the kernel, and the start coordinates of the boxes of a view."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.tensor_map import MakeTensorMapOp
from tilec.dialect.tile_gpu.types import SHARED, BufferType, TensorMapType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.lowering import emitter
from tilec.lowering.layout.shared_layout import SharedLayout, swizzle_span_bytes
from tilec.lowering.layout.vectors import byte_shape
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents
from tilec.lowering.tile.simplify.mark_inbounds import proven_inbounds
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes, per_byte
from tilec.lowering.tile_to_gpu.access.index import greatest_start, of_one_width, tile_start
from tilec.lowering.tile_to_gpu.access.packed_maps import tile_shape as packed_tile_shape
from tilec.lowering.tile_to_gpu.access.packing import divided_exactly
from tilec.lowering.tile_to_gpu.access.tensor_maps import ALIGNMENT_BYTES, TensorMap, is_repeated, slice_under
from tilec.lowering.tile_to_gpu.access.tensor_modes import Im2colFields, im2col_fields
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, TileView
from tilec.lowering.tile_to_gpu.conversion.sliced_map import further_dimensions, key_of_map, launch_values
from tilec.lowering.tma.rules import MAX_BOX


def offsets(view: TileView, op: ir.OpView, conversion: Conversion) -> list[ir.Value]:
    """The first element of the tile in each of its dimensions, 0 in a sparse one; i64 if any extent is not narrow."""
    width = view.tensor.index_width
    indices, insides = list(op.index), proven_inbounds(op)
    return [
        emitter.constant(emitter.integer_type(width), 0)
        if k == view.sparse_dimension
        else tile_start(indices[k], conversion.get(indices[k]), step, extent, width, insides[k])
        for k, (step, extent) in enumerate(zip(view.steps, view.type.tile_shape, strict=True))
    ]


def buffer_type(
    shape: Sequence[int],
    element: ir.Type,
    contiguous: int,
    swizzle: str,
    panel_elements: int | None = None,
    packed_bits: int | None = None,
) -> BufferType:
    """A buffer in shared memory whose dimension `contiguous` is innermost, in panels of that many elements.

    With `packed_bits` it is of i8, and 16 elements of that many bits are packed in each 16 bytes.
    """
    stored, size = byte_shape(shape, contiguous, per_byte(element)), element_bytes(element)
    panel_bytes = None if panel_elements is None else panel_elements * size
    layout = SharedLayout(stored, size, contiguous, swizzle, panel_bytes, packed_bits)
    return BufferType.get(tuple(shape), element, SHARED, str(layout))


def copied_buffer_type(map: TensorMap, type: ir.Type, matrix: tuple[int, int] | None = None) -> BufferType:
    """The buffer of a copy of the tile of a view by TMA: longer rows without swizzle are several boxes.

    With `matrix` of that shape, whose rows are contiguous: its own, or parts of its only row.
    """
    if map.packed_bits is not None:
        shape = packed_tile_shape(map.view, map.packed_bits)
        return buffer_type(shape, emitter.integer_type(8), map.contiguous, map.swizzle, packed_bits=map.packed_bits)
    row = type.tile_shape[map.contiguous] // map.parts
    panel = MAX_BOX * map.merged if map.swizzle == "none" and row > MAX_BOX else map.panel_elements
    element = emitter.integer_type(8) if spell(type.element) == "i1" else type.element
    if matrix is None:
        return buffer_type(type.tile_shape, element, map.contiguous, map.swizzle, panel)
    is_whole = matrix[1] == type.tile_shape[map.contiguous]
    return buffer_type(matrix, element, 1, map.swizzle, panel if is_whole else None)


def declare_map(map: TensorMap, view: TileView, conversion: Conversion) -> ir.Value:
    """The tensor map at the top of the kernel; equal ones are one parameter."""
    source, type = view.tensor.source, view.type
    row = swizzle_span_bytes(map.swizzle)
    parts, bits = map.parts, map.packed_bits
    # TMA copies rows that are gathered one by one.
    box = [1 if k == view.sparse_dimension else type.tile_shape[k] for k in map.order]
    widest = map.widest or MAX_BOX
    box[0] = min(box[0] // parts, widest) if row is None else row // element_bytes(type.element)
    box[1:] = (min(extent, MAX_BOX) for extent in box[1:])
    dimensions = tuple(type.dim_map[k] for k in map.order)
    copied = map.order, dimensions, map.swizzle, map.element, map.truncated, map.fill
    slice, declarations = slice_under(map.view), conversion.declarations
    key = key_of_map(slice, source), copied, tuple(box), spell(type.element)
    if slice is not None:
        box += [1] * slice.further_dimensions

    def declare() -> ir.Value:
        extents, strides = launch_values(source, declarations, slice)
        inner, *outer = dimensions
        with declarations.point():
            extent = _divided(extents[inner], parts) if bits is None else _elements(extents[inner], bits)
            if map.truncated:
                extent = _rounded_down(extent, ALIGNMENT_BYTES // element_bytes(type.element))
            steps = [_divided(strides[d], parts) for d in outer]
            # The launcher replaces the stride of an extent of 1.
            extents = [emitter.constant(n.type, 1) if is_repeated(source, d) else n for d, n in enumerate(extents)]
            extents = [extent, *(extents[d] for d in outer)]
            if slice is not None:
                more_extents, more_steps = further_dimensions(slice, map.element, parts, declarations)
                extents, steps = of_one_width([*extents, *more_extents]), of_one_width([*steps, *more_steps])
        base = source.base if slice is None else slice.base
        return declarations.declare(
            MakeTensorMapOp,
            [declarations.argument(base), extents, steps],
            [TensorMapType.get()],
            element=map.element,
            box=box,
            swizzle=map.swizzle,
            fill=map.fill,
        )

    return declarations.shared(key, declare)


def declare_im2col_map(
    map: TensorMap, view: TileView, conversion: Conversion, fields: Im2colFields | None = None
) -> ir.Value:
    """The tensor map of an im2col view at the top of the kernel, perhaps with fields other than those of the view.

    Equal maps are one parameter.
    """
    source, found = view.tensor.source, fields or im2col_fields(view.type, map.swizzle)
    key = (source.operation.results[0], found, map.swizzle, spell(view.type.element), map.element)
    declarations = conversion.declarations

    def declare() -> ir.Value:
        extents, strides = launch_values(source, declarations)
        return declarations.declare(
            MakeTensorMapOp,
            [declarations.argument(source.base), extents[::-1], strides[-2::-1]],
            [TensorMapType.get()],
            element=map.element,
            kind=found.kind,
            lower=found.lower,
            upper=found.upper,
            element_strides=found.element_strides,
            box=[found.channels, found.pixels],
            swizzle=map.swizzle,
            fill="zero",
        )

    return declarations.shared(key, declare)


def _divided(value: ir.Value, parts: int) -> ir.Value:
    """The bytes that a number of elements fills, as a value that the launcher can compute."""
    return value if parts == 1 else emitter.binary("arith.divui", value, emitter.constant(value.type, parts))


def _elements(extent: ir.Value, bits: int) -> ir.Value:
    """The elements of `bits` bits in a number of bytes, as a value that the launcher can compute."""
    scale, size = 8 // math.gcd(8, bits), bits // math.gcd(8, bits)
    return _divided(emitter.binary("arith.muli", extent, emitter.constant(extent.type, scale)), size)


def _rounded_down(value: ir.Value, multiple: int) -> ir.Value:
    """The greatest multiple that is at most a number, as a value that the launcher can compute."""
    factor = emitter.constant(value.type, multiple)
    return emitter.binary("arith.muli", emitter.binary("arith.divui", value, factor), factor)


def row_end(map: TensorMap, view: TileView, conversion: Conversion) -> ir.Value | None:
    """The elements of a row of the tensor of a truncated map; None if the map has them all."""
    if not map.truncated:
        return None
    dimension = view.type.dim_map[map.contiguous]
    if view.tensor.item is not None:
        return view.tensor.extents[dimension]
    extent = tensor_extents(view.tensor.source)[dimension]
    return conversion.declarations.shared(("row end", extent), lambda: conversion.declarations.integer(extent))


def coordinates(map: TensorMap, view: TileView, op: ir.OpView, starts: Sequence[ir.Value]) -> list[ir.Value]:
    """The start of the box, innermost dimension first; i32, as the extents of a map are narrow.

    Along a dimension whose elements a stride of 0 repeats, the map has one element. The number of the array of a list
    comes last.
    """
    start = _start_of_box(map, view, op, starts)
    return start if view.tensor.item is None else [*start, view.tensor.item]


def _start_of_box(map: TensorMap, view: TileView, op: ir.OpView, starts: Sequence[ir.Value]) -> list[ir.Value]:
    tensor, insides = view.tensor, proven_inbounds(op)

    def start(k: int) -> ir.Value:
        dimension = view.dim_map[k]
        if not is_repeated(tensor.source, dimension):
            return starts[k]
        type = starts[k].type
        only = emitter.constant(type, 0)
        if insides[k]:
            return only
        inside = emitter.less_than(starts[k], tensor.extents[dimension], unsigned=True)
        return emitter.create("arith.select", [type], [inside, only, emitter.constant(type, 1)]).result

    if tensor.position is not None:
        position = tensor.position
        sliced = [position.of_rows(starts[k], view.dim_map[k], insides[k]) for k in map.order]
        return [divided_exactly(sliced[0], map.parts), *sliced[1:], *position.further]
    inner, *outer = [start(k) for k in map.order]
    if map.packed_bits is not None and not isinstance(view.type, PackedViewType):
        # The bytes of two elements of 4 bits.
        return [emitter.binary("arith.muli", inner, emitter.constant(inner.type, 8 // map.packed_bits)), *outer]
    return [divided_exactly(inner, map.parts), *outer]


def starts_inside(view: TileView, op: ir.OpView, starts: Sequence[ir.Value]) -> ir.Value | None:
    """Whether the tile starts inside the tensor along each dimension where it may start at 2**31 or beyond.

    None if all starts are below 2**31. TMA reads coordinates as signed. PTX ISA 9.7.9.27: a load fills a box at
    negative coordinates, but those of a store are not negative.
    """
    found = None
    for k, (index, is_inside) in enumerate(zip(op.index, proven_inbounds(op), strict=True)):
        if k != view.sparse_dimension and not is_inside and greatest_start(index, view.steps[k]) > MAXIMUM_NARROW:
            inside = emitter.less_than(starts[k], view.tensor.extents[view.dim_map[k]], unsigned=True)
            found = inside if found is None else emitter.binary("arith.andi", found, inside)
    return found
