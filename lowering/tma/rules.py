"""The rules of TMA on tensor maps: all fields are checked at launch, and at compile time the fields that are known.

Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5 and 9.7.9.27. Where they differ, a map must
satisfy both.

A check does not look at values that are not yet known. A check of SHAPE_RULES comes first: the others rely on the
numbers of values that it requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tilec.frozen import replace
from tilec.lowering.target import Target
from tilec.lowering.tma.rule import Rule, Violation, rule
from tilec.lowering.tma.tensor_map import ELEMENTS, IM2COL_KINDS, PADDED_GROUP, SWIZZLES, WIDE_KINDS, TensorMap

MAX_RANK = 5
MAX_EXTENT = 2**32
MAX_DOCUMENTED_EXTENT = 2**31
STRIDE_LIMIT = 2**40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
MAX_CHANNELS = 256
MAX_PIXELS = 1024
# The number of bits of a corner along each dimension, by the number of its values.
CORNER_BITS = {1: 16, 2: 8, 3: 5}
# The order of the values of a corner. The CUDA driver API writes {D, H, W}, but the driver reads the innermost
# dimension first, as CUTLASS passes them (cute/atom/copy_traits_sm90_im2col.hpp).
_CORNERS = "WHD"
# Allowed by both manuals: the driver lists no flip and for U4 no atoms of 64 bytes, PTX no spans of 32 and 64 bytes.
_PADDED_SWIZZLES = {
    "u4_align16b": ("none", "128B", "128B_atom_32B"),
    "u6_align16b": ("none", "128B", "128B_atom_32B", "128B_atom_64B"),
}
WIDE_SWIZZLES = ("64B", "128B", "128B_atom_32B")
# PTX ISA 9.7.9.27.1.1: the restrictions on packed element types.
_PACKED_SECTION = "9.7.9.27.1.1"

SHAPE_RULES: list[Rule] = []
RULES: list[Rule] = []


@rule(SHAPE_RULES, ptx="5.5.1")
def rank(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """A tensor has 1 to 5 dimensions, and 3 to 5 for the im2col kinds."""
    low = 3 if tensor_map.is_im2col else 1
    if not low <= tensor_map.rank <= MAX_RANK:
        yield Violation("rank", None, f"{low} to {MAX_RANK} dimensions", str(tensor_map.rank))


@rule(SHAPE_RULES)
def number_of_values(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Strides, box, element strides and corners have one value per dimension that they describe."""
    rank, corners = tensor_map.rank, tensor_map.corner_rank
    for field, values, expected in (
        ("box", tensor_map.box, 0 if tensor_map.is_im2col else rank),
        ("element_strides", tensor_map.element_strides, rank),
        ("strides", tensor_map.strides, rank - 1),
        ("lower", tensor_map.lower, corners),
        ("upper", tensor_map.upper, corners),
    ):
        if len(values) != expected:
            yield Violation(field, None, f"{expected} value{'' if expected == 1 else 's'}", str(len(values)))


@rule(RULES, ptx="5.5.3.1")
def base_alignment(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The address is a multiple of 16 bytes, of 32 with interleave 32B and for padded types."""
    granule = tensor_map.granule_bytes
    if tensor_map.base is not None and (tensor_map.base % granule or not 0 <= tensor_map.base < 2**64):
        yield Violation("base", None, f"an address that is a multiple of {granule} bytes", f"{tensor_map.base:#x}")


@rule(RULES)
def extent_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Extents are 1 to 2**32."""
    for dimension, extent in enumerate(tensor_map.extents):
        if extent is not None and not 1 <= extent <= MAX_EXTENT:
            yield Violation("extents", dimension, "1 to 2**31 elements", str(extent))


@rule(RULES, undocumented=True)
def large_extent(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Extents are at most 2**31, the limit of CUDA 13.5; CUDA 13.0 documents 2**32."""
    for dimension, extent in enumerate(tensor_map.extents):
        if extent is not None and MAX_DOCUMENTED_EXTENT < extent <= MAX_EXTENT:
            yield Violation("extents", dimension, "at most 2**31 elements, the limit of CUDA 13.5", str(extent))


@rule(RULES, ptx=_PACKED_SECTION)
def packed_extent(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Extent 0 is a multiple of 128 elements for padded types, and even for u4_align8b."""
    extent, group = tensor_map.extents[0], ELEMENTS[tensor_map.element].group
    if extent is not None and extent % group:
        yield Violation("extents", 0, f"a multiple of {group} elements of {tensor_map.element}", str(extent))


@rule(RULES)
def stride_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Strides are multiples of 16 bytes, of 32 with interleave 32B and for padded types, below 2**40."""
    granule = tensor_map.granule_bytes
    for dimension, stride in enumerate(tensor_map.strides, start=1):
        if stride is not None and (stride % granule or not 0 <= stride < STRIDE_LIMIT):
            yield Violation("strides", dimension, f"a multiple of {granule} bytes from 0 to 2**40", f"{stride} bytes")


@rule(RULES, undocumented=True)
def broadcast(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Strides are not 0."""
    for dimension, stride in enumerate(tensor_map.strides, start=1):
        if stride == 0:
            expected = "a positive stride, because broadcasting by stride 0 is undocumented"
            yield Violation("strides", dimension, expected, "0")


@rule(RULES, kinds=["tiled"])
def box_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Box extents are 1 to 256."""
    for dimension, extent in enumerate(tensor_map.box):
        if not 1 <= extent <= MAX_BOX:
            yield Violation("box", dimension, f"1 to {MAX_BOX} elements", str(extent))


@rule(RULES, kinds=["tiled"], ptx="5.5.3.1")
def row_granule(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, a row of the box is a multiple of 16 bytes."""
    padded = ELEMENTS[tensor_map.element].padded
    if not padded and tensor_map.interleave == "none" and tensor_map.row_bits % 128:
        yield Violation("box", 0, "rows that are a multiple of 16 bytes", f"{tensor_map.row_bits / 8:g} bytes")


@rule(RULES, kinds=["tiled"], ptx=_PACKED_SECTION)
def padded_row(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """A row of a padded type has 128 elements."""
    if ELEMENTS[tensor_map.element].padded and tensor_map.box[0] != PADDED_GROUP:
        yield Violation("box", 0, f"exactly {PADDED_GROUP} elements of {tensor_map.element}", str(tensor_map.box[0]))


@rule(RULES)
def element_stride_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Element strides are 1 to 8."""
    first = 1 if tensor_map.interleave == "none" else 0
    for dimension, stride in list(enumerate(tensor_map.element_strides))[first:]:
        if not 1 <= stride <= MAX_ELEMENT_STRIDE:
            yield Violation("element_strides", dimension, f"1 to {MAX_ELEMENT_STRIDE}", str(stride))


@rule(RULES, driver=False, ptx="5.5.3.2")
def contiguous_element_stride(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, element stride 0 is 1, which the driver ignores."""
    if tensor_map.interleave == "none" and tensor_map.element_strides[0] != 1:
        yield Violation("element_strides", 0, "1 without interleave", str(tensor_map.element_strides[0]))


@rule(RULES, ptx="5.5.6")
def interleave_rank(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Interleaved layouts have at least 3 dimensions."""
    if tensor_map.interleave != "none" and tensor_map.rank < 3:
        yield Violation("interleave", None, "none with less than 3 dimensions", tensor_map.interleave)


@rule(RULES, kinds=WIDE_KINDS, driver=False, ptx="5.5.6")
def interleave_of_wide_kinds(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The wide kinds have no interleaved layout."""
    if tensor_map.interleave != "none":
        yield Violation("interleave", None, f"none for kind {tensor_map.kind}", tensor_map.interleave)


@rule(RULES)
def interleave_of_packed_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """u6_align16b has no interleaved layout."""
    if tensor_map.interleave != "none" and tensor_map.element == "u6_align16b":
        yield Violation("interleave", None, "none for u6_align16b", tensor_map.interleave)


def _row_field(tensor_map: TensorMap) -> tuple[str, int | None]:
    """The field and the dimension that are the extent of a row of the box."""
    return ("channels_per_pixel", None) if tensor_map.is_im2col else ("box", 0)


# Without interleave, row_granule and contiguous_element_stride are stricter.
@rule(RULES, driver=False, ptx="5.5.1.1")
def row_of_packed_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """With interleave, a row of the box of elements that share bytes has whole bytes."""
    if tensor_map.interleave != "none" and ELEMENTS[tensor_map.element].is_packed and tensor_map.row_bits % 8:
        yield Violation(*_row_field(tensor_map), "rows of whole bytes", f"{tensor_map.row_bits / 8:g} bytes")


@rule(RULES, driver=False, ptx="5.5.1.1")
def element_stride_of_packed_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """With interleave, element stride 0 of elements that share bytes is 1."""
    stride, is_packed = tensor_map.element_strides[0], ELEMENTS[tensor_map.element].is_packed
    if tensor_map.interleave != "none" and is_packed and stride > 1:
        yield Violation("element_strides", 0, f"1 for {tensor_map.element}, whose elements share bytes", str(stride))


@rule(RULES, ptx=_PACKED_SECTION)
def fill_of_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Only floats have the fill nan."""
    if tensor_map.fill == "nan" and not ELEMENTS[tensor_map.element].is_float:
        yield Violation("fill", None, "zero for elements other than floats", f"nan for {tensor_map.element}")


@rule(RULES, driver=False, ptx="9.7.9.28")
def packed_elements_of_target(tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    """sm_90 has no elements that share bytes: ptxas rejects their codes."""
    if ELEMENTS[tensor_map.element].is_packed and target is not None and not target.loads_packed_elements:
        yield Violation("element", None, f"an element type of whole bytes on {target.name}", tensor_map.element)


@rule(RULES, kinds=WIDE_KINDS)
def compute_capability_of_wide_kinds(tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    """The wide kinds need compute capability 10.0."""
    if target is not None and not target.loads_along_w:
        yield Violation("target", None, f"compute capability 10.0 or later for kind {tensor_map.kind}", target.name)


@rule(RULES, driver=False, ptx="5.5.7")
def swizzle_96b(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Swizzle 96B is of sm_103a alone, which is not a target."""
    if tensor_map.swizzle == "96B":
        yield Violation("swizzle", None, "a swizzle that the target has; 96B is of sm_103a alone", "96B")


@rule(RULES, driver=False, ptx="9.7.9.28")
def swizzle_atomicity_of_target(tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    """sm_90 has swizzles with atoms of 16 bytes alone."""
    if SWIZZLES[tensor_map.swizzle].atomicity and target is not None and not target.swizzles_wide_atoms:
        yield Violation("swizzle", None, f"16-byte atoms on {target.name}", tensor_map.swizzle)


@rule(RULES, ptx=_PACKED_SECTION)
def swizzle_of_padded_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Padded types have the swizzles that both manuals list."""
    allowed = _PADDED_SWIZZLES.get(tensor_map.element)
    if allowed is not None and tensor_map.swizzle not in allowed:
        expected = f"one of {', '.join(allowed)} for {tensor_map.element}"
        yield Violation("swizzle", None, expected, tensor_map.swizzle)


@rule(RULES, kinds=WIDE_KINDS, ptx="5.5.5")
def swizzle_of_wide_kinds(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The wide kinds have the swizzles 64B, 128B and 128B_atom_32B."""
    if tensor_map.swizzle not in WIDE_SWIZZLES:
        expected = f"one of {', '.join(WIDE_SWIZZLES)} for kind {tensor_map.kind}"
        yield Violation("swizzle", None, expected, tensor_map.swizzle)


@rule(RULES)
def swizzle_of_interleave(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Interleave 32B needs swizzle 32B."""
    if tensor_map.interleave == "32B" and tensor_map.swizzle != "32B":
        yield Violation("swizzle", None, "32B with interleave 32B", tensor_map.swizzle)


def _limits_rows(tensor_map: TensorMap) -> bool:
    has_rows = tensor_map.interleave == "none" and not ELEMENTS[tensor_map.element].padded
    return tensor_map.swizzle != "none" and has_rows


@rule(RULES)
def swizzle_span(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, a row is at most as long as the span of the swizzle."""
    span, row = SWIZZLES[tensor_map.swizzle].span_bytes, tensor_map.row_bits / 8
    if _limits_rows(tensor_map) and row > span:
        expected = f"rows of at most {span} bytes with swizzle {tensor_map.swizzle}"
        yield Violation(*_row_field(tensor_map), expected, f"{row:g} bytes")


@rule(RULES, undocumented=True)
def short_swizzled_row(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, a row is as long as the span of the swizzle."""
    span, row = SWIZZLES[tensor_map.swizzle].span_bytes, tensor_map.row_bits / 8
    if _limits_rows(tensor_map) and row < span:
        expected = f"rows of {span} bytes with swizzle {tensor_map.swizzle}, because shorter rows are undocumented"
        yield Violation(*_row_field(tensor_map), expected, f"{row:g} bytes")


def corner_range(corner_rank: int) -> tuple[int, int]:
    """The smallest and the largest value of a corner with this number of values (PTX ISA 5.5.4.1)."""
    limit = 2 ** (CORNER_BITS[corner_rank] - 1)
    return -limit, limit - 1


@rule(RULES, kinds=IM2COL_KINDS, ptx="5.5.4.1")
def corner_values(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Corners have 16 signed bits for rank 3 and for the wide kinds, 8 for rank 4, and 5 for rank 5."""
    low, high = corner_range(tensor_map.corner_rank)
    for field in ("lower", "upper"):
        for name, value in zip(_CORNERS, getattr(tensor_map, field), strict=False):
            if not low <= value <= high:
                expected = f"{low} to {high} along {name} for kind {tensor_map.kind} of {tensor_map.rank} dimensions"
                yield Violation(field, _CORNERS.index(name), expected, str(value))


@rule(RULES, kinds=IM2COL_KINDS)
def nonempty_box(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The box between the corners has a position along each dimension."""
    for index, (extent, lower, upper) in enumerate(
        zip(tensor_map.extents[1:], tensor_map.lower, tensor_map.upper, strict=False)
    ):
        if extent is not None and extent + upper - lower < 1:
            expected = f"at least {lower - extent + 1}, so that the box has a position along {_CORNERS[index]}"
            yield Violation("upper", index, expected, str(upper))


@rule(RULES, kinds=IM2COL_KINDS)
def channel_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Channels per pixel are 1 to 256."""
    channels = tensor_map.channels_per_pixel
    if not 1 <= channels <= MAX_CHANNELS:
        yield Violation("channels_per_pixel", None, f"1 to {MAX_CHANNELS} channels", str(channels))


@rule(RULES, kinds=IM2COL_KINDS, ptx=_PACKED_SECTION)
def padded_channels(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """A pixel of a padded type has 128 channels."""
    channels = tensor_map.channels_per_pixel
    if ELEMENTS[tensor_map.element].padded and channels != PADDED_GROUP:
        expected = f"exactly {PADDED_GROUP} channels of {tensor_map.element}"
        yield Violation("channels_per_pixel", None, expected, str(channels))


# The driver states this rule for the boxes of kind tiled alone, PTX for every box.
@rule(RULES, kinds=IM2COL_KINDS, driver=False, ptx="5.5.3.1")
def channel_granule(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, the channels of a pixel are a multiple of 16 bytes."""
    padded, row = ELEMENTS[tensor_map.element].padded, tensor_map.row_bits
    if not padded and tensor_map.interleave == "none" and row % 128:
        yield Violation("channels_per_pixel", None, "channels of a multiple of 16 bytes", f"{row / 8:g} bytes")


@rule(RULES, kinds=["im2col", "im2col_w"])
def pixel_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Pixels per column are 1 to 1024; kind im2col_w128 ignores them."""
    pixels = tensor_map.pixels_per_column
    if not 1 <= pixels <= MAX_PIXELS:
        yield Violation("pixels_per_column", None, f"1 to {MAX_PIXELS} pixels", str(pixels))


@rule(RULES, kinds=IM2COL_KINDS, driver=False, ptx="5.5.4.2", undocumented=True)
def element_stride_of_images(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The element stride of N is 1: strides of W, H and D alone have a meaning."""
    stride = tensor_map.element_strides[-1]
    if stride != 1:
        expected = "1 along N, because other strides are undocumented"
        yield Violation("element_strides", tensor_map.rank - 1, expected, str(stride))


# Every rule, in the order in which it is checked.
ALL_RULES = (*SHAPE_RULES, *RULES)


def violations(tensor_map: TensorMap, target: Target | None = None, unconfirmed: bool = False) -> Iterator[Violation]:
    """Yields the rules that the known fields of a tensor map violate; without a target, those of every target.

    `unconfirmed` permits values that NVIDIA neither documents nor forbids.
    """
    shape, rules = _rules_of(tensor_map.kind, unconfirmed)
    found = list(_violations(shape, tensor_map, target))
    yield from found or _violations(rules, tensor_map, target)


def _violations(rules: Sequence[Rule], tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    for each in rules:
        for violation in each.check(tensor_map, target):
            yield replace(violation, source=each.source(tensor_map.kind, violation.field))


@cache
def _rules_of(kind: str, unconfirmed: bool) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules on the numbers of values, and the others, that apply to maps of a kind."""
    shape = tuple(each for each in SHAPE_RULES if kind in each.kinds)
    return shape, tuple(each for each in RULES if kind in each.kinds and not (each.undocumented and unconfirmed))
