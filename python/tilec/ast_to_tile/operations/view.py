"""Arrays and their tile views."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, element_type, pointer_type
from tilec.ast_to_tile.operations.arith import binary
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.values import (
    Array,
    ForeignPointer,
    KernelValue,
    Origin,
    Shape,
    Tile,
    TiledView,
    describe,
    needs_64_bits,
)
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.attributes import BoundedAttr
from tilec.dialect.cuda_tile.types import GatherScatterViewType, PartitionViewType, StridedViewType, TensorViewType
from tilec.dialect.mlir import ir
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import PaddingMode
from tilec.language.operations import view as language


def make_array(
    emitter: Emitter,
    name: str,
    dtype: DType,
    pointer: ir.Value,
    shape: tuple[Tile | int, ...],
    strides: tuple[Tile | int, ...],
    origin: Origin | None = None,
) -> Array:
    """The array with its tensor view."""
    index_dtype = datatypes.int64 if any(map(needs_64_bits, (*shape, *strides))) else datatypes.int32
    # A tensor view has no constant extents and strides of 0.
    extents, steps = (tuple(size or emitter.as_tile(0, index_dtype) for size in part) for part in (shape, strides))
    view = tensor_view(pointer, dtype, extents, steps, emitter.locate())
    return Array(name, dtype, pointer, shape, strides, view, origin=origin)


def tensor_view(
    pointer: ir.Value,
    dtype: DType,
    shape: tuple[Tile | int, ...],
    strides: tuple[Tile | int, ...],
    location: ir.Location,
) -> ir.Value:
    """The tensor view of an array; extents and strides that are integers, which are positive, are part of its type."""
    known = [[size if isinstance(size, int) else None for size in part] for part in (shape, strides)]
    operands = [[size.value for size in part if isinstance(size, Tile)] for part in (shape, strides)]
    type = TensorViewType.get(known[0], element_type(dtype), known[1])
    return build("make_tensor_view", [pointer, *operands], [type], loc=location).results[0]


def tile_view(
    emitter: Emitter, array: Array, tile_shape: Shape, order: tuple[int, ...], padding: PaddingMode, steps: Shape
) -> ir.Value:
    """A tile view of an array, built once directly after the tensor view, which dominates all uses."""
    pad = _padding(array, padding)
    key = (tile_shape, order, pad, steps)
    if key not in array.views:
        with ir.InsertionPoint.after(array.tensor_view.owner):
            array.views[key] = _make_view(emitter, array, *key)
    return array.views[key]


def _make_view(
    emitter: Emitter, array: Array, tile_shape: Shape, order: tuple[int, ...], pad: str | None, steps: Shape
) -> ir.Value:
    try:
        if steps == tile_shape:
            name, type = "partition", PartitionViewType.get(tile_shape, array.tensor_view.type, order, pad)
        else:
            name, type = "strided", StridedViewType.get(tile_shape, steps, array.tensor_view.type, order, pad)
    except ValueError as problem:
        raise TileTypeError(str(problem)) from problem
    return emitter.build(f"make_{name}_view", [array.tensor_view], [type]).results[0]


def sparse_view(
    emitter: Emitter, array: Array, tile_shape: Shape, sparse_dimension: int, padding: PaddingMode
) -> ir.Value:
    """A view of an array whose slices along one dimension are selected one by one, built once like `tile_view`."""
    pad = _padding(array, padding)
    key = (tile_shape, sparse_dimension, pad)
    if key not in array.views:
        with ir.InsertionPoint.after(array.tensor_view.owner):
            type = GatherScatterViewType.get(tile_shape, array.tensor_view.type, sparse_dimension, pad)
            made = emitter.build("make_gather_scatter_view", [array.tensor_view], [type])
            array.views[key] = made.results[0]
    return array.views[key]


def _padding(array: Array, padding: PaddingMode) -> str | None:
    """The padding of a view; raises BadArgument if elements of the array cannot have the value."""
    pad = None if padding is PaddingMode.UNDETERMINED else padding.value
    if pad not in (None, "zero") and not array.dtype.is_float:
        raise BadArgument("padding_mode", f"expected ZERO or UNDETERMINED for {array.dtype}, got {padding.name}")
    return pad


def tiles_along(emitter: Emitter, extent: KernelValue, step: int) -> KernelValue:
    """The number of tiles with stride `step` that cover an extent."""
    count = binary(emitter, "cdiv", extent, step)
    return to_dtype(emitter, count, datatypes.int32) if isinstance(count, Tile) else count


def array_attribute(array: Array, name: str) -> KernelValue:
    """`array.name`; raises CompileError for an unknown attribute."""
    if name == "ndim":
        return len(array.shape)
    if name in ("dtype", "shape", "strides"):
        return getattr(array, name)
    if name == "foreign_pointer":
        return ForeignPointer(array.pointer, array.dtype, array.name)
    return bound_method(array, name, language.Array, "arrays")


def view_attribute(view: TiledView, name: str) -> KernelValue:
    """`view.name`; raises CompileError for an unknown attribute."""
    if name == "dtype":
        return view.array.dtype
    if name in ("tile_shape", "traversal_steps"):
        return getattr(view, name)
    return bound_method(view, name, language.TiledView, "tiled views")


@implements(language.Array.tiled_view)
def _tiled_view(
    self: Array, emitter: Emitter, tile_shape: KernelValue, padding_mode: KernelValue, traversal_steps: KernelValue
) -> TiledView:
    rank = len(self.shape)
    shape = arguments.shape(tile_shape, "tile_shape", rank=rank)
    steps = shape or (1,) * rank
    if traversal_steps is not None:
        steps = arguments.shape(traversal_steps, "traversal_steps", rank=rank, powers=False)
        if len(steps) != rank:
            raise BadArgument("traversal_steps", f"expected one step per dimension, {rank} in all, got {steps}")
    return TiledView(self, shape, steps, arguments.keyword(padding_mode, PaddingMode, "padding_mode"))


@implements(language.TiledView.num_tiles)
def _num_tiles(self: TiledView, emitter: Emitter, axis: KernelValue) -> KernelValue:
    at = arguments.axis(axis, len(self.array.shape))
    return tiles_along(emitter, self.array.shape[at], self.traversal_steps[at])


@implements(language.Array.slice)
def _slice(self: Array, emitter: Emitter, axis: KernelValue, start: KernelValue, stop: KernelValue) -> Array:
    at = arguments.axis(axis, len(self.shape))
    first, last = (_bound(value, name) for value, name in ((start, "start"), (stop, "stop")))
    _check_order(first, last, self.shape[at])
    if isinstance(first, Tile):
        first = _bounded_index(emitter, first, self.index_dtype)
    origin = self.origin or Origin(self.pointer, (0,) * len(self.shape))
    whole = _start(emitter, origin.starts[at], first, self.index_dtype)
    starts = (*origin.starts[:at], whole, *origin.starts[at + 1 :])
    moved = origin.pointer
    # One offset along each axis, so that slices of slices are those of the array.
    for axis, (start, stride) in enumerate(zip(starts, self.strides, strict=True)):
        if axis == at or start != 0:
            factors = [to_dtype(emitter, value, datatypes.int64) for value in (start, stride)]
            offset = emitter.as_tile(binary(emitter, "mul", *factors))
            moved = emitter.build("offset", [moved, offset.value], [pointer_type(self.dtype)]).results[0]
    shape = (*self.shape[:at], _extent(emitter, first, last, self.index_dtype), *self.shape[at + 1 :])
    origin = Origin(origin.pointer, starts)
    return make_array(emitter, self.name, self.dtype, moved, shape, self.strides, origin)


def _start(emitter: Emitter, outer: Tile | int, inner: Tile | int, dtype: DType) -> Tile | int:
    """The first index of a slice of a slice in the array, whose extent it does not exceed."""
    if outer == 0:
        return inner
    if isinstance(outer, int) and isinstance(inner, int):
        return outer + inner
    total = emitter.as_tile(binary(emitter, "add", *_common_width(emitter, outer, inner)))
    return _bounded_index(emitter, total, dtype)


def _bounded_index(emitter: Emitter, index: Tile, dtype: DType) -> Tile:
    """The index, assumed to be from 0 to the largest extent of an array whose extents have this type."""
    is_wider = needs_64_bits(index) and dtype == datatypes.int32
    return _assumed_bounded(emitter, index, 2**31 - 1 if is_wider else None)


def _bound(value: KernelValue, parameter: str) -> Tile | int:
    """A bound of a slice: a constant integer or a signed run-time scalar."""
    (item,) = arguments.index(value, 1, parameter)
    if isinstance(item, Tile):
        if not item.dtype.signed:
            raise BadArgument(parameter, f"expected a signed integer, got {describe(item)}: convert it with astype()")
        return item
    bound = int(arguments.known(item))
    if bound < 0:
        raise BadArgument(parameter, f"expected at least 0, got {bound}")
    if bound >> 63:
        raise BadArgument(parameter, f"expected less than 2^63, got {bound}")
    return bound


def _check_order(first: Tile | int, last: Tile | int, extent: Tile | int) -> None:
    if isinstance(first, int) and isinstance(last, int) and last < first:
        raise BadArgument("stop", f"expected at least the start of the slice, {first}, got {last}")
    for bound, parameter in ((first, "start"), (last, "stop")):
        if isinstance(bound, int) and isinstance(extent, int) and bound > extent:
            raise BadArgument(parameter, f"expected at most the extent of the array, {extent}, got {bound}")


def _extent(emitter: Emitter, first: Tile | int, last: Tile | int, dtype: DType) -> Tile | int:
    """stop - start, static if both bounds are static; a slice whose stop is less than its start is empty."""
    if isinstance(first, int) and isinstance(last, int):
        return last - first
    difference = binary(emitter, "sub", *_common_width(emitter, last, first))
    return not_negative(emitter, to_dtype(emitter, binary(emitter, "max", difference, 0), dtype))


def not_negative(emitter: Emitter, extent: Tile) -> Tile:
    """The scalar, assumed to be at least 0."""
    return _assumed_bounded(emitter, extent, None)


def _assumed_bounded(emitter: Emitter, scalar: Tile, greatest: int | None) -> Tile:
    bounded = {"predicate": BoundedAttr.get(0, greatest)}
    return Tile(emitter.build("assume", [scalar.value], [scalar.value.type], bounded).results[0], scalar.dtype, ())


def _common_width(emitter: Emitter, *bounds: Tile | int) -> list[Tile]:
    """The bounds as int32, or as int64 if either needs it; only their difference must fit the type of extents."""
    dtype = datatypes.int64 if any(map(needs_64_bits, bounds)) else datatypes.int32
    return [to_dtype(emitter, bound, dtype) for bound in bounds]
