"""The rules that hold for every kind of tensor map, on memory, box, interleave and fill.

A check does not look at values that are not yet known. A check of SHAPE_RULES comes first: the others rely on the
numbers of values that it requires.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.target import Target
from tilec.lowering.tma.element_types import ELEMENTS, PADDED_GROUP
from tilec.lowering.tma.enumerations import WIDE_KINDS
from tilec.lowering.tma.rule import Rule, Violation, rule
from tilec.lowering.tma.tensor_map import TensorMap

MAX_RANK = 5
MAX_EXTENT = 2**32
MAX_DOCUMENTED_EXTENT = 2**31
STRIDE_LIMIT = 2**40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
# PTX ISA 9.7.9.27.1.1: the restrictions on packed element types.
PACKED_SECTION = "9.7.9.27.1.1"

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


@rule(RULES, ptx=PACKED_SECTION)
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


@rule(RULES, kinds=["tiled"], ptx=PACKED_SECTION)
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


def row_field(tensor_map: TensorMap) -> tuple[str, int | None]:
    """The field and the dimension that are the extent of a row of the box."""
    return ("channels_per_pixel", None) if tensor_map.is_im2col else ("box", 0)


# Without interleave, row_granule and contiguous_element_stride are stricter.
@rule(RULES, driver=False, ptx="5.5.1.1")
def row_of_packed_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """With interleave, a row of the box of elements that share bytes has whole bytes."""
    if tensor_map.interleave != "none" and ELEMENTS[tensor_map.element].is_packed and tensor_map.row_bits % 8:
        yield Violation(*row_field(tensor_map), "rows of whole bytes", f"{tensor_map.row_bits / 8:g} bytes")


@rule(RULES, driver=False, ptx="5.5.1.1")
def element_stride_of_packed_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """With interleave, element stride 0 of elements that share bytes is 1."""
    stride, is_packed = tensor_map.element_strides[0], ELEMENTS[tensor_map.element].is_packed
    if tensor_map.interleave != "none" and is_packed and stride > 1:
        yield Violation("element_strides", 0, f"1 for {tensor_map.element}, whose elements share bytes", str(stride))


@rule(RULES, ptx=PACKED_SECTION)
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
