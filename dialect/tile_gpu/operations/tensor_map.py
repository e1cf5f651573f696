"""Tensor maps: the descriptors of TMA."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.attributes import Enumeration, Int32, Integers32, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Index, Integer64, TensorMap
from tilec.element_types import ELEMENT_TYPES

# The bytes of a row of the box by swizzle: all of the span, as NVIDIA does not document shorter rows.
SPANS = {"none": None, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}
Swizzle = Enumeration(*SPANS)
# CUDA driver API, cuTensorMapEncodeTiled: the granule of a row without swizzle.
_ROW_GRANULE_BYTES = 16
# The bits in shared memory of an element of a map by its name.
_ELEMENT_BITS = {
    **{row.name: row.storage_bits for row in ELEMENT_TYPES.values() if row.tensor_map is not None},
    **{f"u{bits}": bits for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("u4_align16b", "u6_align16b"), 8),
}
# The bits in memory of elements of which 16 have 16 bytes in shared memory (PTX ISA 5.5.1.1).
PACKED_BITS = {"u4_align16b": 4, "u6_align16b": 6}
Fill = Enumeration("zero", "nan")


@dataclass(frozen=True)
class Im2colKind:
    """A kind of tensor map whose box is a column of pixels of images (PTX ISA 5.5.4 and 5.5.5).

    Attributes:
        along_w: Whether the column runs along W and the images only, with its other coordinates fixed.
        pixels: The number of pixels that the kind prescribes; None if the box has any number.
        halo_limit: The greatest `halo`; None if the kind has none.
        halos: How many times a load copies the halo.
    """

    along_w: bool = False
    pixels: int | None = None
    halo_limit: int | None = None
    halos: int = 0


IM2COL_KINDS = {
    "im2col": Im2colKind(),
    "im2col_w": Im2colKind(along_w=True, halo_limit=511, halos=1),
    # PTX ISA 5.5.5.3: a halo follows each of the four groups of 32 pixels.
    "im2col_w128": Im2colKind(along_w=True, pixels=128, halo_limit=31, halos=4),
}
Kind = Enumeration(*IM2COL_KINDS)

# CUDA driver API, cuTensorMapEncodeIm2colWide: the swizzles of the kinds along W.
SWIZZLES_ALONG_W = ("64B", "128B", "128B_atom_32B")
# CUDA driver API, cuTensorMapEncodeIm2col: the bits of a corner by rank; im2col_w has those of rank 3 in every rank.
CORNER_BITS = {3: 16, 4: 8, 5: 5}
CHANNELS, PIXELS, ELEMENT_STRIDES = (1, 256), (1, 1024), (1, 8)


def _ranks(op: "MakeTensorMapOp") -> str | None:
    if op.kind is None:
        rank = len(op.box)
        if len(op.extents) != rank or len(op.strides) != rank - 1:
            return f"expected {rank} extents and {rank - 1} strides for box {list(op.box)}"
        return None
    rank = len(op.extents)
    if rank not in CORNER_BITS:
        return f"expected 3 to 5 extents of a map of kind {op.kind}, but got {rank}"
    if len(op.strides) != rank - 1:
        return f"expected {rank - 1} strides for {rank} extents, but got {len(op.strides)}"
    return None


def _fields_of_kind(op: "MakeTensorMapOp") -> str | None:
    for name in ("lower", "upper", "element_strides"):
        if (getattr(op, name) is None) != (op.kind is None):
            return f"expected lower, upper and element_strides with kind {' or '.join(IM2COL_KINDS)}, and only with it"
    return None


def _column(op: "MakeTensorMapOp") -> str | None:
    if op.kind is None:
        return None
    if len(op.box) != 2:
        return f"expected a box of [channels, pixels], but got {list(op.box)}"
    channels, pixels = op.box
    only = IM2COL_KINDS[op.kind].pixels
    if only is not None and pixels != only:
        return f"expected {only} pixels of a map of kind {op.kind}, but got {pixels}"
    return _outside("channels", [channels], CHANNELS) or _outside("pixels", [pixels], PIXELS)


def _corners(op: "MakeTensorMapOp") -> str | None:
    if op.kind is None:
        return None
    rank, along_w = len(op.extents), IM2COL_KINDS[op.kind].along_w
    count, bits = (1, CORNER_BITS[3]) if along_w else (rank - 2, CORNER_BITS[rank])
    for name, corner in (("lower", op.lower or []), ("upper", op.upper or [])):
        if len(corner) != count:
            return f"expected {count} entries in '{name}' of a map of kind {op.kind}, but got {corner}"
        problem = _outside(f"corners '{name}'", corner, (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        if problem is not None:
            return problem
    return None


def _element_strides(op: "MakeTensorMapOp") -> str | None:
    if op.kind is None:
        return None
    strides, rank = op.element_strides or [], len(op.extents)
    if len(strides) != rank:
        return f"expected {rank} element strides for {rank} extents, but got {strides}"
    # The walk along W has no step in another dimension (PTX ISA 5.5.5).
    last = 1 if IM2COL_KINDS[op.kind].along_w else rank - 2
    if any(strides[k] != 1 for k in range(rank) if not 1 <= k <= last):
        return f"expected element strides other than 1 only along {', '.join('WHD'[:last])}, but got {strides}"
    return _outside("element strides", strides, ELEMENT_STRIDES)


def _element_and_row(op: "MakeTensorMapOp") -> str | None:
    bits = _ELEMENT_BITS.get(op.element)
    if bits is None:
        return f"expected an element of {', '.join(_ELEMENT_BITS)}, but got {op.element}"
    size, span = op.box[0] * bits // 8, SPANS[op.swizzle]
    if span is None and size % _ROW_GRANULE_BYTES:
        return f"expected rows of the box of a multiple of {_ROW_GRANULE_BYTES} bytes, but got {size} bytes"
    if span is not None and size != span:
        return f"expected rows of the box of {span} bytes with swizzle {op.swizzle}, but got {size} bytes"
    return None


def _swizzle_of_kind(op: "MakeTensorMapOp") -> str | None:
    if op.kind is None or not IM2COL_KINDS[op.kind].along_w or op.swizzle in SWIZZLES_ALONG_W:
        return None
    return f"expected a swizzle of {', '.join(SWIZZLES_ALONG_W)} of a map of kind {op.kind}, but got {op.swizzle}"


def _outside(name: str, values: Sequence[int], limits: tuple[int, int]) -> str | None:
    """The problem with values of which one is not from the first to the second limit, or None."""
    least, greatest = limits
    if all(least <= value <= greatest for value in values):
        return None
    found = values[0] if len(values) == 1 else list(values)
    return f"expected {name} from {least} to {greatest}, but got {found}"


def _word_of_array(op: "ListWordOp") -> str | None:
    if op.words % 2 and 0 <= op.word < op.words:
        return None
    return f"expected a word of 1 + 2 * rank words, but got word {op.word} of {op.words}"


class ListWordOp(Operation, name="list_word", traits=[ext.Pure]):
    """Word `word` of each array of a list, whose table has `words` of 64 bits for each.

    Word 0 is the address, and the extents and the strides follow (docs/signature.md). The launcher alone has its value,
    so that only tensor maps use it.
    """

    interface = Interface(Category.DECLARATION, executor=Executor.NONE, scratch=Scratch.NONE, is_pure=True)
    result: Result[Integer64]
    table: Operand[Integer64]
    word: Int32
    words: Int32
    assembly = "$table word $word of $words attr-dict : type($result)"
    rules = [_word_of_array]


class MakeTensorMapOp(Operation, name="make_tensor_map", traits=[ext.Pure]):
    """A TMA descriptor over kernel arguments: innermost dimension first, strides from the second on, in
    elements, or in bytes if elements share bytes.

    Without `kind` it copies boxes of the tensor. With a kind the tensor is images (C, W, then H and D if it has them,
    then N), the box is [channels, pixels], and `lower` and `upper` bound the start of the pixels (W first).
    Over the words of a list there is a map for each array, whose number is the last coordinate of a copy.
    """

    interface = Interface(Category.DECLARATION, executor=Executor.NONE, scratch=Scratch.NONE, is_pure=True)
    result: Result[TensorMap]
    base: Operand[Integer64]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    element: Text
    kind: Kind | None
    lower: Integers32 | None
    upper: Integers32 | None
    element_strides: Integers32 | None
    box: Integers32
    swizzle: Swizzle
    fill: Fill
    assembly = (
        "$element $base[$extents] strides [$strides]"
        "{ kind $kind lower [$lower] upper [$upper] element_strides [$element_strides]}"
        " box [$box] swizzle word($swizzle) fill $fill attr-dict"
    )
    rules = [_ranks, _fields_of_kind, _column, _corners, _element_strides, _element_and_row, _swizzle_of_kind]


def words_of(made: MakeTensorMapOp) -> ListWordOp | None:
    """The address of the arrays of a list of which each has a map; None for the map of one tensor."""
    base = made.base.owner
    return base if isinstance(base, ListWordOp) else None


def coordinates_of(made: MakeTensorMapOp) -> int:
    """The coordinates of a copy: one for each dimension, and the number of the array of a list."""
    return len(made.extents) + (words_of(made) is not None)


def made_by(map: ir.Value) -> MakeTensorMapOp | None:
    """The operation that makes a tensor map; None if another one does."""
    made = map.owner
    return made if isinstance(made, MakeTensorMapOp) else None
