"""TMA copies between global and shared memory."""

import math
import re
from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration, Flag, Int32
from tilec.dialect.fields import Operand
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.matrix_rules import METADATA
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.channel import PAIR, channel_of_kernel
from tilec.dialect.tile_gpu.operations.kernel import kernel_around
from tilec.dialect.tile_gpu.operations.tensor_map import IM2COL_KINDS, PACKED_BITS, coordinates_of, made_by, words_of
from tilec.dialect.tile_gpu.sets import Boolean, Channel, Index, Integer16, Integer32, SharedBuffer, TensorMap
from tilec.element_types import element_type

# A map of f32 copies tf32 with all its bits; a map of tf32 rounds the f32 that it loads. Maps know signs of integers.
# Elements of 4 bits and predicates are copied as bytes.
_COPIED_AS_EACH_OTHER = ({"f32", "tf32"}, {"i32", "u32"}, {"i64", "u64"}, {"i8", "f4E2M1FN"}, {"i8", "i1"})
# The element of a map whose elements are several adjacent ones of the buffer, for wider boxes.
_MERGED, _MERGED_BYTES = "i64", 8


def map_of_kernel(op: ir.OpView) -> str | None:
    if made_by(op.map) is None:
        return "expected the result of tile_gpu.make_tensor_map in the kernel"
    return None


def element_of_map(op: ir.OpView) -> str | None:
    copied, held = op.map.owner.element, str(op.buffer.type.element)
    if op.buffer.type.packed_bits is not None or copied in PACKED_BITS:
        fits = held == "i8" and _packs_elements(op)
    else:
        fits = copied == held or {copied, held} in _COPIED_AS_EACH_OTHER or _is_merged(op)
    if fits:
        return None
    return f"expected a buffer of {copied}, the element of the map, but got {op.buffer.type.spelled()}"


def _packs_elements(op: ir.OpView) -> bool:
    """PTX ISA 5.5.1.1: loads unpack elements of 4 and 6 bits, and stores pack elements of 6 bits from bytes."""
    copied, held = PACKED_BITS.get(op.map.owner.element), op.buffer.type.packed_bits
    is_store = hasattr(type(op), "reduction")
    return copied == 6 and held is None if is_store else copied == held


def _is_merged(op: ir.OpView) -> bool:
    """Whether an element of the map is several adjacent elements of the buffer: a row of the box fills a panel."""
    layout, made = _LAYOUT.match(op.buffer.type.layout), op.map.owner
    if layout is None or (made.element, made.swizzle, made.kind) != (_MERGED, "none", None):
        return False
    size = element_type(str(op.buffer.type.element)).storage_bytes
    row_bytes = int(layout[3] or op.buffer.type.shape[int(layout[1])] * size)
    return size < _MERGED_BYTES and made.box[0] * _MERGED_BYTES == row_bytes


def _boxes_alone(op: ir.OpView) -> str | None:
    kind = op.map.owner.kind
    return None if kind is None else f"expected a map without kind, but got {kind}"


def coordinates_of_map(op: ir.OpView) -> str | None:
    made = op.map.owner
    rank, expected = len(made.extents), coordinates_of(made)
    if _scatters(op):
        found = len(op.coordinates)
        return None if found == 1 else f"expected one coordinate, the first column of the rows, but got {found}"
    if len(op.coordinates) != expected:
        return f"expected {expected} coordinates of a map of {rank} dimensions, but got {len(op.coordinates)}"
    return None


# The layout of a matrix in shared memory: its contiguous dimension and its swizzle. Scale factors have neither.
_LAYOUT = re.compile(r"contiguous=(\d+) swizzle=(\w+)(?: panel=(\d+))?")


def swizzle_of_map(op: ir.OpView) -> str | None:
    layout, swizzle = _LAYOUT.match(op.buffer.type.layout), op.map.owner.swizzle
    if swizzle == (layout[2] if layout else "none"):
        return None
    return f"expected a buffer with swizzle {swizzle}, that of the map, but got {op.buffer.type.spelled()}"


def _boxes_of_map(op: ir.OpView) -> str | None:
    """The problem with the buffer of a copy through a map without kind, or None."""
    made, buffer = op.map.owner, op.buffer.type
    if _scatters(op) or made.kind is not None:
        return None
    box, parts = made.box, loaded_parts(op)
    size = math.prod(box) * _panels(buffer, box[0]) * parts
    boxes = math.prod(buffer.shape) // size
    is_highest = boxes == 1 or box[outermost_wide(box)] == _HIGHEST_BOX
    if boxes and is_highest and math.prod(buffer.shape) == size * boxes:
        return None
    of_each = f" of each of {parts} CTAs" if parts > 1 else ""
    return f"expected a buffer of whole boxes {box}{of_each}, but got {buffer.spelled()}"


def _scatters(op: ir.OpView) -> bool:
    return getattr(op, "rows", None) is not None


def loaded_parts(op: ir.OpView) -> int:
    """The number of CTAs that load a part of the buffer each: with multicast those that share the channel, else one."""
    if not getattr(op, "multicast", False):
        return 1
    return _CTAS_OF_A_PAIR if op.channel.owner.across == PAIR else kernel_around(op).cluster_ctas


def row_boxes(op: ir.OpView) -> int:
    """The number of boxes of a copy behind each other, of the rows that one CTA copies: several if a box has not all.

    They follow each other along the outermost dimension of the box that has several elements.
    """
    buffer, box = op.buffer.type, op.map.owner.box
    rows = math.prod(buffer.shape) // (_panels(buffer, box[0]) * loaded_parts(op))
    return rows // math.prod(box)


def outermost_wide(box: Sequence[int]) -> int:
    """The outermost dimension of a box with several elements; the innermost if there is none."""
    return max((dimension for dimension, extent in enumerate(box) if extent > 1), default=0)


def _panels(buffer: ir.Type, row: int) -> int:
    """The number of boxes with rows of `row` elements beside each other in a buffer.

    A buffer that is wider than the swizzle span consists of panels.
    """
    layout = _LAYOUT.match(buffer.layout)
    without = 1 if buffer.layout == METADATA else len(buffer.shape)
    contiguous = int(layout[1]) if layout else without
    return buffer.shape[contiguous] // row if contiguous < len(buffer.shape) else 1


def _columns_of_map(op: ir.OpView) -> str | None:
    """The problem with the buffer of a copy of pixels, or None; it has one panel for each column."""
    made, buffer = op.map.owner, op.buffer.type
    if made.kind is None:
        return None
    channels, pixels = made.box
    rows = pixels + IM2COL_KINDS[made.kind].halos * (getattr(op, "halo", None) or 0)
    is_contiguous = buffer.layout.startswith("contiguous=1 ")
    if is_contiguous and len(buffer.shape) == 2 and buffer.shape[0] == rows and buffer.shape[1] % channels == 0:
        return None
    return f"expected a buffer of {rows} pixels by a multiple of {channels} channels, but got {buffer.spelled()}"


BUFFER_RULES = [swizzle_of_map, _boxes_of_map, _columns_of_map, element_of_map]


def offsets_of_kind(op: "TmaLoadOp") -> str | None:
    made = op.map.owner
    kind, rank = made.kind, len(made.extents)
    if kind is None:
        expected, described = 0, "without kind"
    else:
        expected, described = 1 if IM2COL_KINDS[kind].along_w else rank - 2, f"of kind {kind}"
    if len(op.offsets) != expected:
        return f"expected {expected} offsets for a map of {rank} dimensions {described}, but got {len(op.offsets)}"
    return None


def halo_of_kind(op: "TmaLoadOp") -> str | None:
    kind = op.map.owner.kind
    limit = None if kind is None else IM2COL_KINDS[kind].halo_limit
    if limit is None:
        return None if op.halo is None else "expected a halo only with a map of a kind along W"
    if op.halo is None or not 0 <= op.halo <= limit:
        found = "none" if op.halo is None else op.halo
        return f"expected a halo from 0 to {limit} with a map of kind {kind}, but got {found}"
    return None


def slices_of_kind(op: "TmaLoadOp") -> str | None:
    if op.slices is None:
        return None
    made, channels = op.map.owner, op.buffer.type.shape[1]
    # PTX ISA 5.5.4: with these corners the last offset alone decides the position along the last spatial dimension.
    fits = made.kind == "im2col" and (made.lower[-1], made.upper[-1]) == (0, 1 - op.slices)
    if not fits or channels % made.box[0]:
        return f"expected a map of kind im2col with corners 0 and {1 - op.slices} along its {op.slices} slices"
    return None


_CTAS_OF_A_PAIR = 2
# The most elements of a box along a dimension (PTX ISA 5.5.3, the limit of boxDim of the CUDA driver).
_HIGHEST_BOX = 256
# The rows after which every swizzle repeats (PTX ISA 5.5.7).
_PATTERN_ROWS = 8


def _multicast_of_cluster(op: "TmaLoadOp") -> str | None:
    if (op.condition is None) != (op.along is None) or op.along is not None and not op.multicast:
        return "expected a condition of a multicast, with the coordinate along which its parts follow each other"
    if not op.multicast:
        return None
    joins_programs = kernel_around(op).joined_programs is not None
    if joins_programs != (op.condition is not None):
        return "expected a condition for a multicast if and only if the cluster has several tile blocks"
    if op.along is not None and not 0 < op.along < len(op.coordinates):
        return f"expected parts along one of the coordinates 1 to {len(op.coordinates) - 1}, but got {op.along}"
    if op.channel.owner.across is None:
        return "expected a channel across cluster or pair for a multicast"
    box = list(op.map.owner.box)
    if op.map.owner.kind is not None or len(box) < 2 or math.prod(box[1:]) % _PATTERN_ROWS:
        return f"expected a part of a multiple of {_PATTERN_ROWS} rows for a multicast, but got box {box}"
    return None


class TmaLoadOp(Operation, name="tma_load"):
    """Copies the box at `coordinates` (innermost first, in elements) into a buffer of the slot being filled.

    Elements outside the tensor are filled as the map says; the slot's full barrier counts the bytes. Through a map of
    kind im2col, copies a column of pixels from the one at `coordinates`, each at its distance `offsets` (W first, in
    pixels). With `slices` its last spatial dimension has that many slices of channels: the last offset is the slice of
    the first panel of the buffer, each later panel has the next slice, and one that does not exist is outside of the
    tensor. Through one of a kind along W, the pixels of one row of the images, and `halo` more of them. With
    `multicast` each CTA of the cluster, or of the pair, copies the part of its rank to the buffers of all of them: the
    box at its own `coordinates`, to rows rank * rows / CTAs on. With a `condition`, which is equal in all CTAs,
    `coordinates` are those of the first part, and each part starts where the one before it ends `along` a coordinate;
    where it is false, each CTA copies all parts to its own buffer.
    """

    interface = Interface(Category.COPY, Memory.SHARED, executor=Executor.LOAD, scratch=Scratch.NONE)
    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    offsets: Sequence[Operand[Integer16]]
    condition: Operand[Boolean] | None
    buffer: Operand[SharedBuffer]
    channel: Operand[Channel]
    halo: Int32 | None
    slices: Int32 | None
    multicast: Flag
    along: Int32 | None
    assembly = (
        "$map[$coordinates]{ offsets [$offsets]}{ halo $halo}{ slices $slices}{ $multicast}"
        "{ along $along if $condition} -> $buffer of $channel attr-dict : type($buffer)"
    )
    rules = [
        map_of_kernel,
        channel_of_kernel,
        coordinates_of_map,
        offsets_of_kind,
        halo_of_kind,
        slices_of_kind,
        _multicast_of_cluster,
        *BUFFER_RULES,
    ]


_COMPARED = ("i32", "u32", "i64", "u64", "f16", "bf16")
_BITWISE = ("i32", "u32", "i64", "u64")
# The elements of the maps that TMA reduces into (PTX ISA 9.7.9.27.1.3, cp.reduce.async.bulk.tensor).
REDUCED = {
    "add": ("i32", "u32", "u64", "f16", "bf16", "f32"),
    "min": _COMPARED,
    "max": _COMPARED,
    "and": _BITWISE,
    "or": _BITWISE,
    "xor": _BITWISE,
    "inc": ("u32",),
    "dec": ("u32",),
}
Reduction = Enumeration(*REDUCED)


def reduces_elements_of_map(op: ir.OpView) -> str | None:
    if op.reduction is None:
        return None
    allowed, found = REDUCED[op.reduction], op.map.owner.element
    return None if found in allowed else f"reduction {op.reduction} takes {', '.join(allowed)}, but the map has {found}"


def stores_kind(op: ir.OpView) -> str | None:
    made = op.map.owner
    if made.kind is None:
        return None
    if IM2COL_KINDS[made.kind].along_w:
        return f"expected a map without kind or of kind im2col, but got {made.kind}"
    # PTX ISA 5.5.4: a column that is stored lies inside of the images.
    if any(corner < 0 for corner in made.lower) or any(corner > 0 for corner in made.upper):
        return (
            f"expected lower corners of at least 0 and upper ones of at most 0, but got {made.lower} and {made.upper}"
        )
    return None


# The rows that one instruction gathers or scatters (PTX ISA 5.5.3.4, tile::gather4 and tile::scatter4).
GATHERED_ROWS = 4


def _of_one_cta(op: ir.OpView) -> str | None:
    across = op.channel.owner.across
    return None if across is None else f"expected a channel of one CTA for a gather, but got across {across}"


def rows_of_map(op: ir.OpView) -> str | None:
    """The problem with the indices or the buffer of a gather or scatter, by the map of its matrix, or None."""
    made, buffer, rows = op.map.owner, op.buffer.type, op.rows.type
    if words_of(made) is not None:
        return "expected the map of one matrix, not of the arrays of a list"
    box = list(made.box)
    if made.kind is not None or len(box) != 2 or box[1] != 1:
        kind = "" if made.kind is None else f" of kind {made.kind}"
        return f"expected a map of a matrix with a box of one row, but got box {box}{kind}"
    if len(buffer.shape) != 2 or buffer.shape[0] % GATHERED_ROWS or buffer.shape[1] % box[0]:
        return f"expected a buffer of whole boxes {box} and {GATHERED_ROWS} rows each, but got {buffer.spelled()}"
    if rows.shape != buffer.shape[:1] or str(rows.element) != "i32":
        return f"expected a buffer of {buffer.shape[0]} indices of i32, but got {rows.spelled()}"
    return None


class TmaGatherOp(Operation, name="tma_gather"):
    """Copies elements `column` to column + N of row rows[i] of a matrix to row i of a buffer of the slot being filled.

    A row that the matrix does not have, as all elements outside of it, is filled as the map says; the slot's full
    barrier counts the bytes. `column` is a multiple of 16 bytes.
    """

    interface = Interface(Category.COPY, Memory.SHARED, executor=Executor.LOAD)
    map: Operand[TensorMap]
    column: Operand[Integer32]
    rows: Operand[SharedBuffer]
    buffer: Operand[SharedBuffer]
    channel: Operand[Channel]
    assembly = "$map[$column] rows $rows -> $buffer of $channel attr-dict : type($rows) -> type($buffer)"
    rules = [map_of_kernel, channel_of_kernel, _of_one_cta, rows_of_map, swizzle_of_map, element_of_map]


def ends_of_elements(op: ir.OpView) -> str | None:
    """The problem with an operand `end`, by the map and the buffer of a store, or None."""
    if op.end is None:
        return None
    if op.map.owner.kind is not None or op.reduction is not None:
        return "expected no end of rows with a reduction or a map with a kind"
    element = op.buffer.type.element
    if _is_merged(op) or element_type(str(element)).storage_bits % 8:
        return f"expected a map of {element}, the element of the buffer, with an end of rows"
    return None


class TmaPrefetchOp(Operation, name="tma_prefetch"):
    """Brings the box at `coordinates` (innermost first, in elements) to the L2 cache; nothing waits for it."""

    interface = Interface(Category.PREFETCH, Memory.GLOBAL, executor=Executor.LOAD, scratch=Scratch.NONE)
    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    assembly = "$map[$coordinates] attr-dict"
    rules = [map_of_kernel, coordinates_of_map, _boxes_alone]


# The destination of a store.
STORED_TO = "$map[$coordinates]{ end $end}{ rows $rows : type($rows)}"


def scatters_rows(op: ir.OpView) -> str | None:
    """The problem with a store that has indices of rows, or None."""
    if op.rows is None:
        return None
    # ptxas 13.5 assembles a reduction with tile::scatter4 as a store.
    if op.end is not None or op.reduction is not None:
        return "expected no end of rows and no reduction with indices of rows"
    return rows_of_map(op)


STORE_RULES = [reduces_elements_of_map, ends_of_elements, scatters_rows]


class TmaStoreOp(Operation, name="tma_store"):
    """Copies a buffer to the box at `coordinates`; elements outside the tensor are dropped.

    With `rows` copies row i of the buffer to row rows[i] of a matrix, from the column at the only coordinate on, which
    is a multiple of 16 bytes; no index is negative.
    Through a map of kind im2col, copies it to the column of pixels from the one at `coordinates`. With `reduction`
    combines each element in memory with that of the buffer, atomically, with order relaxed.gpu. With `end` the rows of
    the tensor have `end` elements, of which the map has whole multiples of 16 bytes: the lanes of the warp that
    issues the copy store the others one by one.
    """

    interface = Interface(Category.COPY, Memory.GLOBAL, scratch=Scratch.NONE)
    map: Operand[TensorMap]
    coordinates: Sequence[Operand[Integer32]]
    end: Operand[Index] | None
    rows: Operand[SharedBuffer] | None
    buffer: Operand[SharedBuffer]
    reduction: Reduction | None
    assembly = f"$buffer -> {STORED_TO}{{ reduction $reduction}} attr-dict : type($buffer)"
    rules = [map_of_kernel, coordinates_of_map, stores_kind, *BUFFER_RULES, *STORE_RULES]
