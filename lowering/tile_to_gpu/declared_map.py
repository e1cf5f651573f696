"""Tensor maps declared at the top of the kernel, and the start coordinates of the boxes of a view."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.types import SHARED, BufferType, TensorMapType
from tilec.lowering.layout.shared_layout import SharedLayout, swizzle_span_bytes
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.alignment import element_bytes
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.declarations import Declarations
from tilec.lowering.tile_to_gpu.index import FAR_COORDINATE, is_narrow, of_one_width
from tilec.lowering.tile_to_gpu.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.values import TileView


def offsets(view: TileView, op: ir.OpView, conversion: Conversion) -> list[ir.Value]:
    """The first element of the tile in each of its dimensions; i64 if any index or extent is not narrow."""
    extents = view.tensor.extents
    is_wide = any(extent.type.width > 32 for extent in extents) or any(
        value.type.element.width > 32 and not is_narrow(value) for value in op.index
    )
    return [
        # An i32 index of 2**31 or more may stay i32: it lies outside of a narrow extent in any case.
        emitter.multiplied(emitter.cast_integer(conversion.get(value), 64 if is_wide else 32), step)
        for value, step in zip(op.index, view.steps, strict=True)
    ]


def buffer_type(shape: Sequence[int], element: ir.Type, contiguous: int, swizzle: str) -> BufferType:
    """A buffer in shared memory whose dimension `contiguous` is innermost."""
    layout = SharedLayout(tuple(shape), element_bytes(element), contiguous, swizzle)
    return BufferType.get(layout.shape, element, SHARED, str(layout))


def declare_map(map: TensorMap, view: TileView, conversion: Conversion) -> ir.Value:
    """The tensor map at the top of the kernel; equal ones are one parameter."""
    source, type = view.tensor.source, view.type
    row = swizzle_span_bytes(map.swizzle)
    box = [type.tile_shape[k] for k in map.order]
    if row is not None:
        box[0] = row // element_bytes(type.element)
    key = (source.operation.results[0], map.order, map.swizzle, tuple(box), spell(type.element), map.element)
    declarations = conversion.declarations

    def declare() -> ir.Value:
        extents, strides = _launch_values(source, declarations)
        order = [type.dim_map[k] for k in map.order]
        return declarations.declare(
            "make_tensor_map",
            [declarations.argument(source.base), [extents[d] for d in order], [strides[d] for d in order[1:]]],
            [TensorMapType.get()],
            element=map.element,
            box=box,
            swizzle=map.swizzle,
            fill="zero",
        )

    return declarations.shared(key, declare)


def _launch_values(source: ir.OpView, declarations: Declarations) -> tuple[list[ir.Value], list[ir.Value]]:
    type = source.operation.results[0].type
    found = []
    for known, dynamic in ((type.shape, source.dynamicShape), (type.strides, source.dynamicStrides)):
        given = list(dynamic)
        found.append([declarations.integer(given.pop(0) if value is None else value) for value in known])
    with declarations.point():
        return of_one_width(found[0]), of_one_width(found[1])


def coordinates(map: TensorMap, view: TileView, op: ir.OpView, conversion: Conversion) -> list[ir.Value]:
    """The start of the box, innermost dimension first; coordinates of TMA have 32 bits, as do the extents of a map."""
    starts = [_coordinate(start) for start in offsets(view, op, conversion)]
    return [starts[k] for k in map.order]


def _coordinate(start: ir.Value) -> ir.Value:
    if start.type.width == 32:
        return start
    outside = emitter.constant(start.type, FAR_COORDINATE)
    return emitter.cast_integer(emitter.binary("arith.minui", start, outside), 32)
