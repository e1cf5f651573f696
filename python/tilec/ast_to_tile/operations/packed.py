"""Builds views of rows of packed elements, with their loads and stores."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.operations.accesses import Inapplicable, access_attributes, to_store, view_indices
from tilec.ast_to_tile.operations.shape import broadcast
from tilec.ast_to_tile.operations.view import tiles_along
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.values import Array, KernelValue, PackedView, Tile
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.packed_rules import PACKED_BITS, elements_per_group
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import MemoryOrder, PaddingMode
from tilec.language.operations import packed as language

_BYTES = (datatypes.uint8, datatypes.int8)


@implements(language.packed_view)
def _packed_view(
    emitter: Emitter, array: KernelValue, bits: KernelValue, tile: KernelValue, dtype: KernelValue
) -> PackedView:
    source = _bytes(array)
    if (bits is None) == (dtype is None):
        raise BadArgument("bits", f"expected either bits or dtype, got {'neither' if bits is None else 'both'}")
    element = source.dtype if dtype is None else _float(dtype)
    size = element.bitwidth if dtype is not None else _bits(bits)
    shape = arguments.shape(tile, "tile", rank=len(source.shape))
    elements = elements_per_group(size)
    if not shape or shape[-1] % elements:
        expected = f"expected a multiple of {elements} elements along the last axis, which fill whole bytes"
        raise BadArgument("tile", f"{expected} with {size} bits each, got {shape}")
    arguments.at("tile", tile_type, source.dtype, shape)
    return PackedView(source, shape, size, element)


def _bytes(value: KernelValue) -> Array:
    source = arguments.array(value)
    if source.dtype not in _BYTES:
        raise BadArgument("array", f"expected packed elements in an array of uint8 or int8, got {source}")
    if not source.shape or source.strides[-1] != 1:
        expected = "expected bytes that are adjacent along the last axis, with a constant stride of 1"
        raise BadArgument("array", f"{expected}, got {source}")
    return source


def _bits(value: KernelValue) -> int:
    bits = arguments.constant_int(value, "bits")
    if bits not in PACKED_BITS:
        known = ", ".join(map(str, PACKED_BITS))
        raise BadArgument("bits", f"expected one of {known}, got {bits}: load elements of 8 bits with ct.load")
    return bits


def _float(value: KernelValue) -> DType:
    element = arguments.dtype(value)
    if element not in datatypes.PACKED_FLOATS:
        known = ", ".join(map(str, datatypes.PACKED_FLOATS))
        raise BadArgument(
            "dtype", f"expected a float of less than 8 bits ({known}), got {element}: load it with ct.load"
        )
    return element


def packed_attribute(view: PackedView, name: str) -> KernelValue:
    """`view.name`; raises CompileError for an unknown attribute."""
    if name == "dtype":
        return view.dtype
    if name in ("tile_shape", "bits"):
        return getattr(view, name)
    return bound_method(view, name, language.PackedView, "packed views")


@implements(language.PackedView.num_tiles)
def _num_tiles(self: PackedView, emitter: Emitter, axis: KernelValue) -> KernelValue:
    rank = len(self.array.shape)
    at = arguments.axis(axis, rank)
    extent = self.array.shape[at]
    if at < rank - 1:
        return tiles_along(emitter, extent, self.tile_shape[at])
    if isinstance(extent, int):
        return tiles_along(emitter, extent * 8 // self.bits, self.tile_shape[at])
    results = [[tile_type(datatypes.int32)] * rank]
    made = emitter.build("tilex.get_packed_index_space_shape", [_view_value(emitter, self)], results)
    return Tile(made.results[at], datatypes.int32, ())


def _view_value(emitter: Emitter, view: PackedView) -> ir.Value:
    """The view in Tile IR, built once directly after the tensor view, which dominates all uses."""
    key, views = (view.tile_shape, view.bits), view.array.views
    if key not in views:
        tensor_view = view.array.tensor_view
        type = PackedViewType.get(view.tile_shape, view.bits, tensor_view.type)
        with ir.InsertionPoint.after(tensor_view.owner):
            views[key] = emitter.build("tilex.make_packed_view", [tensor_view], [type]).results[0]
    return views[key]


@implements(language.PackedView.load)
def load(self: PackedView, emitter: Emitter, index: KernelValue, **options: KernelValue) -> Tile:
    """The tile at an index."""
    operands = [_view_value(emitter, self), _indices(emitter, self, index), None]
    results = [tile_type(self.array.dtype, self.tile_shape), TokenType.get()]
    loaded = emitter.build("tilex.load_packed_tko", operands, results, access_attributes(options, _ORDERS))
    codes = Tile(loaded.results[0], self.array.dtype, self.tile_shape)
    return (
        codes
        if self.dtype not in datatypes.PACKED_FLOATS
        else emitter.tile("tilex.bitcast", [codes], self.dtype, self.tile_shape)
    )


@implements(language.PackedView.store)
def store(self: PackedView, emitter: Emitter, index: KernelValue, tile: KernelValue, **options: KernelValue) -> None:
    """Writes a tile at an index."""
    value = arguments.at("tile", broadcast, emitter, to_store(emitter, tile, self.dtype), self.tile_shape)
    if self.dtype in datatypes.PACKED_FLOATS:
        value = emitter.tile("tilex.bitcast", [value], self.array.dtype, self.tile_shape)
    operands = [value.value, _view_value(emitter, self), _indices(emitter, self, index), None]
    emitter.build("tilex.store_packed_tko", operands, [TokenType.get()], access_attributes(options, _ORDERS))


def _indices(emitter: Emitter, view: PackedView, index: KernelValue) -> list[ir.Value]:
    return view_indices(emitter, arguments.index(index, len(view.tile_shape)))


# Accesses of packed views are weak.
_ORDERS = (MemoryOrder.WEAK,)
# The arguments of ct.load and ct.store that packed views do not have.
INAPPLICABLE: Inapplicable = {
    "shape": ((None,), "its tiles have the shape that the view gives"),
    "offset": ((None,), "it has no window"),
    "order": (("C",), "its tiles have the axes of the array"),
    "padding_mode": ((PaddingMode.UNDETERMINED, PaddingMode.ZERO), "elements outside of the array are zero"),
    "check_bounds": ((True,), "every access is checked"),
    "memory_order": (_ORDERS, "its accesses are WEAK"),
    "allow_tma": ((None, False), "TMA does not load its tiles"),
}
