"""Tensor maps of the modes im2col and tile::gather4, or why TMA cannot copy in them (PTX ISA 5.5.3.2, 5.5.4, 5.5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.tensor_map import SPANS, SWIZZLES_ALONG_W
from tilec.dialect.tile_gpu.operations.tma import GATHERED_ROWS
from tilec.dialect.tilex.im2col_rules import PIXELS_OF_W128
from tilec.dialect.tilex.im2col_type import BY_ROW, RUN, STATIONARY, WEIGHTS, Im2colViewType
from tilec.lowering.layout.shared_layout import swizzle_span_bytes
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.divisibility import divisibility
from tilec.lowering.tile.analysis.tensor_extent import tensor_maker
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.tensor_maps import (
    ALIGNMENT_BYTES,
    TensorMap,
    address_reason,
    extent_reason,
    has_whole_rows,
    map_of_tensor,
    moved_element,
    slice_under,
    swizzle_for,
    tensor_map_for,
)
from tilec.lowering.tma import tensor_map as fields
from tilec.lowering.tma.rule import Violation
from tilec.lowering.tma.rules import MAX_RANK, violations
from tilec.lowering.tma.tensor_map import ELEMENTS

# CUDA C++ Programming Guide: the alignment of the shared memory of a tensor copy.
_SHARED_ALIGNMENT_BYTES = 128
# Stores of rows are not divided into columns, and a larger staging buffer takes memory from rings of loads.
_SCATTERED_BYTES = 32768
# The largest offset of each spatial dimension, by their number (PTX ISA 5.5.4.1), and along W alone (5.5.5.4).
_OFFSET_LIMITS = {1: (1 << 16) - 1, 2: (1 << 8) - 1, 3: (1 << 5) - 1}
OFFSET_LIMIT_ALONG_W = 31
_LEAST_ROW_ALONG_W = min(SPANS[swizzle] or 0 for swizzle in SWIZZLES_ALONG_W)
_KINDS = {None: "im2col", "im2col": "im2col", RUN: "im2col", "w": "im2col_w", WEIGHTS: "im2col_w"} | dict.fromkeys(
    ("w128", STATIONARY), "im2col_w128"
)
_PTX_MODES = {"w": "im2col::w", WEIGHTS: "im2col::w", "w128": "im2col::w::128", STATIONARY: "im2col::w::128"}
# The arguments of a view that the fields of its tensor map come from.
_ARGUMENTS = {
    "element": "array",
    "base": "array",
    "extents": "array",
    "strides": "array",
    "lower": "padding",
    "upper": "window, dilation and padding",
    "element_strides": "stride",
    "channels_per_pixel": "tile",
    "pixels_per_column": "tile",
    "target": "mode",
}


@dataclass(frozen=True)
class Im2colFields:
    """The fields of a tensor map that follow from an im2col view; dimensions are in the order of the map, W first."""

    kind: str
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    element_strides: tuple[int, ...]
    channels: int
    pixels: int


def im2col_fields(type: Im2colViewType, swizzle: str) -> Im2colFields:
    """The fields of the map whose column of pixels is a panel of the tile in this swizzle."""
    along_w = type.mode in BY_ROW
    covered = [(taps - 1) * step for taps, step in zip(type.window, type.dilation, strict=True)]
    lower = [-value for value in reversed(type.lower)]
    upper = [value - extent for value, extent in zip(reversed(type.upper), reversed(covered), strict=True)]
    steps = list(reversed(type.stride))
    if along_w:
        # The walk keeps the other coordinates, which the load gives for each row.
        lower, upper, steps = lower[:1], upper[:1], [steps[0], *(1 for _ in steps[1:])]
    if type.interleave is not None:
        # The box has one slice, which is chosen by an offset.
        lower, upper, steps = [*lower, 0], [*upper, 1 - type.tensor_view.shape[1]], [*steps, 1]
    span = swizzle_span_bytes(swizzle)
    pixels, channels = type.tile_shape
    if type.interleave is not None:
        channels = type.interleave
    elif span is not None:
        channels = min(channels, span * 8 // element_bits(type.element))
    return Im2colFields(_KINDS[type.mode], tuple(lower), tuple(upper), (1, *steps, 1), channels, pixels)


def im2col_map_for(load: ir.OpView, target: Target, *, rounds_to_tf32: bool) -> TensorMap | str:
    """The map for a load through an im2col view, or the reason why TMA cannot load it."""
    mode = load.view.type.mode
    if mode in (RUN, STATIONARY):
        return f"mode: only left operands of matrix multiplies are in mode {mode}"
    found = map_with_fields(load.view, target, partial(im2col_fields, load.view.type))
    return replace(found, element="tf32") if rounds_to_tf32 and not isinstance(found, str) else found


def im2col_store_map(view: ir.Value, target: Target) -> TensorMap | str:
    """The map for a store through an im2col view, or the reason why TMA cannot store it (PTX ISA 9.7.9.27.1.3)."""
    type = view.type
    if type.mode in BY_ROW:
        return f"mode: TMA does not store in mode {type.mode}"
    if type.interleave is not None:
        return "interleave: stores of pixels have no offsets, by which loads select slices"
    if any(taps != 1 for taps in type.window):
        return f"window: TMA stores at one tap, got a window of {list(type.window)}"
    if any(padding > 0 for padding in (*type.lower, *type.upper)):
        found = f"{list(type.lower)}, {list(type.upper)}"
        return f"padding: the pixels that TMA stores lie inside of the images, got {found}"
    return map_with_fields(view, target, partial(im2col_fields, type))


def map_with_fields(view: ir.Value, target: Target, fields_for: Callable[[str], Im2colFields]) -> TensorMap | str:
    """The map of an im2col view, or the reason why there is none; `fields_for` gets the swizzle."""
    type = view.type
    reason = _slices_reason(type)
    if reason is not None:
        return reason
    if type.mode in BY_ROW and not target.loads_along_w:
        return f"mode: TMA of {target.name} has no {_PTX_MODES[type.mode]} (PTX ISA 9.7.9.27.1.2)"
    pixels = type.tile_shape[0]
    if type.mode in ("w128", STATIONARY) and pixels != PIXELS_OF_W128:
        expected = f"{_PTX_MODES[type.mode]} loads {PIXELS_OF_W128} pixels for each block of a cluster"
        return f"tile: {expected}, and a block has {pixels}: choose num_ctas so that it has {PIXELS_OF_W128}"
    moved_as = moved_element(type.element)
    if moved_as is None:
        return f"array: element type {spell(type.element)} has no tensor map"
    if type.tensor_view.strides[-1] != 1:
        return "array: the channels of a pixel are not known to be adjacent in memory"
    reason = _offset_reason(type) or _array_reason(view)
    if reason is not None:
        return reason
    row_bytes = (type.interleave or type.tile_shape[1]) * element_bits(type.element) // 8
    swizzle = swizzle_for(row_bytes)
    if type.mode in BY_ROW and swizzle not in SWIZZLES_ALONG_W:
        expected = f"at least {_LEAST_ROW_ALONG_W} bytes of channels in mode {type.mode}"
        return f"tile: TMA expects {expected}, got {row_bytes} bytes (PTX ISA 5.5.5)"
    violation = _violation(type, moved_as, swizzle, target, fields_for(swizzle))
    if violation is not None:
        return _described(violation)
    return TensorMap(view, (1, 0), 1, swizzle, moved_as)


def _slices_reason(type: Im2colViewType) -> str | None:
    """Why TMA cannot load slices of channels as a spatial dimension of the images, or None."""
    if type.interleave is None:
        return None
    if type.tensor_view.rank > MAX_RANK:
        return f"interleave: TMA has {MAX_RANK} dimensions, and slices of 3D images {type.tensor_view.rank}"
    if type.tensor_view.shape[1] is None:
        return "interleave: the number of slices is not a constant: state the second extent in the signature"
    if type.tile_shape[1] % type.interleave:
        return f"tile: TMA loads whole slices of {type.interleave} channels, got {type.tile_shape[1]}"
    return None


def _array_reason(view: ir.Value) -> str | None:
    """The reason why TMA cannot address the tensor, whose strides are not those of the view, or None."""
    type = view.type
    reason = address_reason(tensor_maker(view), type, type.tensor_view.rank - 1, element_bits(type.element))
    return None if reason is None else f"array: {reason}"


def _offset_reason(type: Im2colViewType) -> str | None:
    """The reason why the offset of the last tap does not fit the instruction, or None."""
    along_w = type.mode in BY_ROW
    limit = OFFSET_LIMIT_ALONG_W if along_w else _OFFSET_LIMITS[type.tensor_view.rank - 2]
    section = "5.5.5.4" if along_w else "5.5.4.1"
    for k in [type.spatial_rank - 1] if along_w else range(type.spatial_rank):
        last = (type.window[k] - 1) * type.dilation[k]
        if last > limit:
            found = f"the last tap of dimension {k} is {last} elements after the first one"
            return f"window and dilation: {found}, and an offset is at most {limit} (PTX ISA {section})"
    return None


def _violation(
    type: Im2colViewType, element: str, swizzle: str, target: Target, described: Im2colFields
) -> Violation | None:
    """The first rule that the known fields of the map violate, or None."""
    tensor = type.tensor_view
    size = element_bits(type.element) // 8
    map = fields.TensorMap(
        element=element,
        extents=tuple(reversed(tensor.shape)),
        strides=tuple(None if stride is None else stride * size for stride in reversed(tensor.strides[:-1])),
        box=(),
        element_strides=described.element_strides,
        swizzle=swizzle,
        kind=described.kind,
        lower=described.lower,
        upper=described.upper,
        channels_per_pixel=described.channels,
        pixels_per_column=described.pixels,
    )
    # A tensor without elements and an empty output have no map: the launcher encodes another one for them.
    if 0 in tensor.shape or map.box_is_empty:
        return None
    return next(violations(fields.with_usable_strides(map), target), None)


def _described(violation: Violation) -> str:
    argument = _ARGUMENTS.get(violation.field, violation.field)
    source = f" ({violation.source})" if violation.source else ""
    return f"{argument}: TMA expects {violation.expected}, got {violation.found}{source}"


def load_map_for(load: ir.OpView, target: Target, *, rounds_to_tf32: bool) -> TensorMap | str:
    """The map for a load of a tile or of gathered rows, or the reason why TMA cannot load it.

    With target.fills_nan threads must not read the tile.
    """
    if isinstance(load.view.type, Im2colViewType):
        return im2col_map_for(load, target, rounds_to_tf32=rounds_to_tf32)
    if not hasattr(load.view.type, "sparse_dim"):
        return map_of_tensor(load.view, None, rounds_to_tf32, _paddings(load.view, target))
    if not target.gathers_rows:
        return f"TMA of {target.name} does not gather rows"
    found = map_of_tensor(load.view, None, rounds_to_tf32, _paddings(load.view, target))
    return found if isinstance(found, str) else _rows_reason(load, found) or found


def store_map_for(store: ir.OpView, target: Target, swizzle: str | None = None) -> TensorMap | str:
    """The map for a store or a reduction of a tile, whose rows may be scattered, or the reason why TMA cannot do it."""
    if not hasattr(store.view.type, "sparse_dim"):
        map = tensor_map_for(store.view, swizzle=swizzle)
        slice = None if isinstance(map, str) else slice_under(store.view)
        if slice is not None and slice.dimension is not None and slice.granule > 1:
            # Parts of a row would start at 2**31 or beyond, and coordinates of a store are not negative.
            return f"extent {slice.dimension}, along which elements are adjacent, is computed in the kernel"
        return map
    if not target.scatters_rows:
        return f"TMA of {target.name} does not scatter rows"
    found = map_of_tensor(store.view, swizzle, rounds_to_tf32=False)
    if isinstance(found, str):
        return found
    size = math.prod(store.view.type.tile_shape) * element_bits(store.view.type.element) // 8
    if size > _SCATTERED_BYTES:
        return f"the scattered tile has {size} bytes, more than {_SCATTERED_BYTES}: store fewer columns at once"
    return _rows_reason(store, found) or (found if has_whole_rows(store.view) else extent_reason(store.view))


def _paddings(view: ir.Value, target: Target) -> tuple[str, ...]:
    """The paddings of the loads of a view: TMA has a NaN for floats that it does not move as bytes."""
    moved_as = moved_element(view.type.element)
    return ("zero", "nan") if target.fills_nan and moved_as is not None and ELEMENTS[moved_as].is_float else ("zero",)


def _rows_reason(access: ir.OpView, map: TensorMap) -> str | None:
    type, bits = access.view.type, element_bits(access.view.type.element)
    is_load = access.operation.name != "cuda_tile.store_view_tko"
    copies, copied, moves = ("gathers", "gathered", "writes") if is_load else ("scatters", "scattered", "reads")
    if bits < 8:
        return f"rows of elements of {bits} bits are {copied} through registers"
    rows, columns = type.tile_shape if type.rank == 2 else (0, 0)
    if type.rank != 2 or type.sparse_dim != 0 or map.contiguous != 1:
        return f"TMA {copies} rows of a matrix, not along dimension {type.sparse_dim} of rank {type.rank}"
    if rows % GATHERED_ROWS:
        return f"TMA {copies} {GATHERED_ROWS} rows at once, the tile has {rows}"
    row_bytes = swizzle_span_bytes(map.swizzle) or columns * bits // 8
    if GATHERED_ROWS * row_bytes % _SHARED_ALIGNMENT_BYTES:
        return f"{GATHERED_ROWS} {copied} rows have {GATHERED_ROWS * row_bytes} bytes, TMA {moves} multiples of 128"
    if divisibility(list(access.index)[1]) * bits // 8 % ALIGNMENT_BYTES:
        return f"the first column of the rows is not known to be a multiple of {ALIGNMENT_BYTES} bytes"
    return None
