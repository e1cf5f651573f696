"""The tensor map of a view, or the reason why TMA cannot copy it or reduce into it (PTX ISA 5.5, 9.7.9.27)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilec.dialect.cuda_tile.types import StridedViewType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.tma import REDUCED
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW, greatest
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.divisibility import divisibility, divisor_of
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides
from tilec.lowering.tile.analysis.tile_operations import without_assumptions
from tilec.lowering.tile_to_gpu.access.alignment import contiguous_dimension, element_bits, per_byte
from tilec.lowering.tile_to_gpu.access.index import is_narrow
from tilec.lowering.tile_to_gpu.access.sliced_tensors import COMPUTED, Slice, list_item, rank_reason, slice_of
from tilec.lowering.tma.rules import MAX_BOX, MAX_RANK, STRIDE_LIMIT
from tilec.lowering.tma.tensor_map import ELEMENTS

# The reduction of TMA for each mode, and the prefix of the element of its tensor map: maps know signs, modes too.
_REDUCTIONS = {
    **{mode: (mode, "u") for mode in ("and", "or", "xor", "add", "inc", "dec")},
    "addf": ("add", ""),
    **{mode: (mode, "i") for mode in ("max", "min")},
    **{f"u{mode}": (mode, "u") for mode in ("max", "min")},
}
ALIGNMENT_BYTES = 16
# Spans from the widest: a box row must not be narrower than its swizzle span.
_SWIZZLES = ((128, "128B"), (64, "64B"), (32, "32B"))


# The element of the map by that of the tile. A map of tf32 would round the low bits that the tensor cores ignore.
MOVED_AS = {"tf32": "f32", "f4E2M1FN": "i8"}


@dataclass(frozen=True)
class TensorMap:
    """A map over a view's tensor; `order` lists tile dimensions from the innermost.

    A map of `element` tf32 over f32 rounds loaded values to the nearest tf32. Elements that share bytes are moved as
    bytes: a map of i8. An element of the map is `merged` adjacent elements of the tensor, for wider boxes. The rows of
    a `truncated` map end at their last multiple of 16 bytes. Elements outside of the tensor are filled with `fill`. A
    box has at most `widest` elements of a row. With `packed_bits` it is of elements of that many bits in the bytes of
    the tensor, of which TMA stores 16 in 16 bytes (packed_maps.py).
    """

    view: ir.Value
    order: tuple[int, ...]
    contiguous: int
    swizzle: str
    element: str
    merged: int = 1
    truncated: bool = False
    fill: str = "zero"
    widest: int | None = None
    packed_bits: int | None = None

    @property
    def panel_elements(self) -> int | None:
        """The elements of a slice of channels, each of which is a panel, where no swizzle has its bytes."""
        return getattr(self.view.type, "interleave", None) if self.swizzle == "none" else None

    @property
    def parts(self) -> int:
        """Elements of the tensor per element of the map."""
        return self.merged * per_byte(self.view.type.element)


def swizzle_for(row_bytes: int) -> str:
    """The widest swizzle that is not wider than a row."""
    return next((name for span, name in _SWIZZLES if row_bytes >= span), "none")


def tensor_map_for(view: ir.Value, *, swizzle: str | None = None, predicates: bool = False) -> TensorMap | str:
    """The map for a tile view, or the reason why TMA cannot copy it; with `predicates` i1 is moved as bytes."""
    if hasattr(view.type, "sparse_dim"):
        return "rows are gathered one by one"
    return map_of_tensor(view, swizzle, rounds_to_tf32=False, predicates=predicates)


def map_of_tensor(
    view: ir.Value,
    swizzle: str | None,
    rounds_to_tf32: bool,
    paddings: Collection[str] = ("zero",),
    *,
    predicates: bool = False,
) -> TensorMap | str:
    """The map of a view that is made in this kernel, by the rules for its tensor, its padding and its rows.

    `paddings` are the values outside of the array that the access may have. With `predicates` i1 is moved as bytes.
    """
    type, tensor, moved_as = view.type, tensor_maker(view), moved_element(view.type.element)
    if predicates and spell(type.element) == "i1":
        moved_as = "i8"
    if moved_as is None:
        return f"element type {spell(type.element)} has no tensor map"
    fill = type.padding or "zero"
    if fill not in paddings:
        return f"TMA fills elements outside of the array with zeros, not with {type.padding}"
    bits = element_bits(type.element)
    contiguous = contiguous_dimension(type)
    if contiguous is None:
        return "no dimension is known to be contiguous"
    reason = (
        _shape_reason(type, contiguous, bits)
        or _step_reason(type, contiguous, bits)
        or address_reason(tensor, type, type.dim_map[contiguous], bits, copies_slices=not hasattr(type, "sparse_dim"))
    )
    if reason is not None:
        return reason
    others = [d for d in reversed(range(type.rank)) if d != contiguous]
    row_bytes = type.tile_shape[contiguous] * bits // 8
    return TensorMap(
        view,
        (contiguous, *others),
        contiguous,
        swizzle or swizzle_for(row_bytes),
        "tf32" if rounds_to_tf32 else moved_as,
        fill=fill,
    )


def moved_element(element: ir.Type) -> str | None:
    """The element of the map that copies elements of a type, or None if there is none."""
    name = spell(element)
    moved_as = MOVED_AS.get(name, name)
    return moved_as if moved_as in ELEMENTS and name != "i1" else None


def _shape_reason(type: ir.Type, contiguous: int, bits: int) -> str | None:
    if type.rank > MAX_RANK:
        return f"rank {type.rank} is more than {MAX_RANK}"
    row_bytes = type.tile_shape[contiguous] * bits // 8
    if row_bytes % ALIGNMENT_BYTES:
        return f"a row of the tile has {row_bytes} bytes, not a multiple of {ALIGNMENT_BYTES}"
    reason = rows_reason([extent for k, extent in enumerate(type.tile_shape) if k != contiguous])
    if reason is not None:
        return reason
    if row_bytes < 32 and type.tile_shape[contiguous] > MAX_BOX:
        return f"tile extent {type.tile_shape[contiguous]} is more than {MAX_BOX}"
    return None


def rows_reason(extents: Sequence[int]) -> str | None:
    """Why boxes cannot divide the rows of a tile, or None; `extents` are those of all dimensions but that of a row.

    Boxes follow each other along the outermost dimension of several rows, which fill the buffer in this order.
    """
    several = [extent for extent in extents if extent > 1]
    inside = max(several[1:], default=0)
    if inside <= MAX_BOX:
        return None
    return f"tile extent {inside} is more than {MAX_BOX}, inside of a dimension of {several[0]}"


def _step_reason(type: ir.Type, contiguous: int, bits: int) -> str | None:
    """Why the tiles of a view begin where TMA cannot: it needs a multiple of 16 bytes (docs/hardware.md)."""
    if not isinstance(type, StridedViewType):
        return None
    step = type.traversal_strides[contiguous] * bits
    if step % (8 * ALIGNMENT_BYTES) == 0:
        return None
    return f"traversal stride {contiguous} is not a multiple of {ALIGNMENT_BYTES} bytes, where TMA begins"


def address_reason(
    tensor: ir.OpView, type: ir.Type, contiguous: int, bits: int, copies_slices: bool = False
) -> str | None:
    """Why TMA cannot address the tensor of a view, or None.

    `contiguous` is a dimension of the tensor; the stride of an extent of one means nothing. The map of a slice, whose
    base or extents the kernel computes, has further dimensions, so that only some copies can use it.
    """
    base = tensor.base
    if divisibility(base) % ALIGNMENT_BYTES:
        return f"the base address is not known to be a multiple of {ALIGNMENT_BYTES} bytes: pass arrays aligned to them"
    for k, extent in enumerate(tensor_extents(tensor)):
        if not is_narrow(extent):
            return f"extent {k} is not known to be less than 2**31{_bound_to_assume(extent)}"
    for k, stride in enumerate(tensor_strides(tensor)):
        if k != contiguous and type.tensor_view.shape[k] != 1 and divisor_of(stride) * bits // 8 % ALIGNMENT_BYTES:
            return f"stride {k} is not known to be a multiple of {ALIGNMENT_BYTES} bytes: pass arrays with padded rows"
        if k != contiguous and type.tensor_view.shape[k] != 1 and greatest(stride) * bits // 8 >= STRIDE_LIMIT:
            return f"stride {k} is not known to be less than 2**40 bytes: pass arrays with strides of 32 bits"
    slice = slice_of(tensor, bits)
    if isinstance(slice, str):
        return slice
    if slice is not None:
        reason = rank_reason(slice, type) if copies_slices else COMPUTED
        if reason is not None:
            return reason
    elif not copies_slices and list_item(tensor) is not None:
        return COMPUTED
    return _repeat_reason(tensor, type)


def _repeat_reason(tensor: ir.OpView, type: ir.Type) -> str | None:
    """Why TMA cannot copy a tile of elements that a stride of 0 repeats, or None.

    A map has one of the elements (`declare_map`), so that a tile must not have several.
    """
    tile = None if isinstance(type, Im2colViewType) else dict(zip(type.dim_map, type.tile_shape, strict=True))
    for k in range(type.tensor_view.rank):
        if is_repeated(tensor, k) and (tile is None or tile[k] > 1):
            return f"stride {k} is 0, and a tensor map has no stride of 0: pass a copy of the array for TMA"
    return None


def is_repeated(tensor: ir.OpView, dimension: int) -> bool:
    """Whether a dimension of several elements has a stride that is known to be 0."""
    stride = tensor_strides(tensor)[dimension]
    known = stride if isinstance(stride, int) else splat(without_assumptions(stride))
    return known == 0 and tensor_extents(tensor)[dimension] != 1


def has_whole_rows(view: ir.Value) -> bool:
    """Whether rows are known to be a multiple of 16 bytes, which TMA writes as a whole (docs/hardware.md)."""
    extent = tensor_extents(tensor_maker(view))[row_dimension(view)]
    return divisor_of(extent) * element_bits(view.type.element) // 8 % ALIGNMENT_BYTES == 0


def slice_under(view: ir.Value) -> Slice | None:
    """How the tensor of a view that has a map lies in an array; None if the launcher knows its base and extents."""
    slice = slice_of(tensor_maker(view), element_bits(view.type.element))
    return slice if isinstance(slice, Slice) else None


def row_dimension(view: ir.Value) -> int:
    """The dimension of the tensor of a view along which elements are adjacent."""
    type = view.type
    if isinstance(type, Im2colViewType):
        return type.tensor_view.rank - 1
    return type.dim_map[contiguous_dimension(type)]


def extent_reason(view: ir.Value) -> str:
    """Why TMA cannot store into a view whose rows are not known to be whole."""
    count = ALIGNMENT_BYTES * 8 // element_bits(view.type.element)
    return (
        f"extent {row_dimension(view)} is not known to be a multiple of {ALIGNMENT_BYTES} bytes, which TMA writes as a "
        f"whole: pass arrays with such rows, or state '?%{count}' in the signature"
    )


def _bound_to_assume(extent: ir.Value | int) -> str:
    """The assumption to add: Tile IR reads extents as unsigned, so an i32 without one may be 2**31 or more."""
    if isinstance(extent, int):
        return ""
    high = "?" if extent.type.element.width == 32 else str(MAXIMUM_NARROW)
    return f": add 'assume bounded<0, {high}>' for it"


def tma_reduction(op: ir.OpView, element: str) -> tuple[str, str]:
    """The reduction for an atomic_red_view_tko, and the element of its map by that of the map of a store."""
    reduction, sign = _REDUCTIONS[op.mode]
    return reduction, f"{sign}{element[1:]}" if sign else element


def refusal_of_reduction(op: ir.OpView, element: str) -> str | None:
    """Why TMA cannot do an atomic_red_view_tko of this element; None if it can."""
    reduction, signed = tma_reduction(op, element)
    return None if signed in REDUCED[reduction] else f"{op.mode} of {element} is not a reduction of TMA"
