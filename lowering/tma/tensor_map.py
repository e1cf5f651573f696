"""The fields of a tensor map, the names of their values, and the codes of those.

Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5.1, 5.5.2 and 5.5.7.
"""

from __future__ import annotations

from tilec.element_types import ELEMENT_TYPES
from tilec.frozen import Frozen, replace


class TensorMap(Frozen):
    """The fields of a tensor map, in the order of the driver's functions.

    Dimension 0 is contiguous. Strides are in bytes and start with dimension 1. None is a value that is not yet known.
    The dimensions of the im2col kinds are C, W, H, D, N; those of rank 3 and 4 have no D, or neither H nor D.

    Attributes:
        box: the extents of the box of kind tiled; empty for the im2col kinds.
        kind: a name of KINDS.
        lower: the lower corner of the im2col kinds, relative to the first pixel, in the order W, H, D; W alone for the
            wide kinds.
        upper: the upper corner, relative to the last pixel, in the same order.
        channels_per_pixel: the extent of the box along C.
        pixels_per_column: the number of pixels of a copy.
    """

    element: str
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    base: int | None = None
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2_promotion: str = "none"
    kind: str = "tiled"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels_per_pixel: int = 0
    pixels_per_column: int = 0

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def is_im2col(self) -> bool:
        return self.kind in IM2COL_KINDS

    @property
    def corner_rank(self) -> int:
        """The number of values of a corner."""
        return corner_rank(self.kind, self.rank)

    @property
    def granule_bytes(self) -> int:
        """The required alignment of the base address and of every stride, in bytes."""
        return 32 if self.interleave == "32B" or ELEMENTS[self.element].padded else 16

    @property
    def row_bits(self) -> int:
        """The size of a row of the box, or of the channels of a pixel, in global memory, in bits."""
        return (self.channels_per_pixel if self.is_im2col else self.box[0]) * ELEMENTS[self.element].bits

    @property
    def box_is_empty(self) -> bool:
        """Whether the bounding box of an im2col kind is known to have no position along W, H or D."""
        return any(
            extent is not None and extent + upper - lower < 1
            for extent, lower, upper in zip(self.extents[1:], self.lower, self.upper, strict=False)
        )


def with_usable_strides(tensor_map: TensorMap) -> TensorMap:
    """The map with a valid stride for each extent of 1, whose stride has no effect."""
    strides = tuple(
        tensor_map.granule_bytes if extent == 1 else stride
        for extent, stride in zip(tensor_map.extents[1:], tensor_map.strides, strict=True)
    )
    return replace(tensor_map, strides=strides)


def corner_rank(kind: str, rank: int) -> int:
    """The number of values of a corner of maps of this kind and rank."""
    return 0 if kind not in IM2COL_KINDS else 1 if kind in WIDE_KINDS else rank - 2


class _Kind(Frozen):
    """A kind of tensor map.

    Attributes:
        function: the function of the driver that encodes it.
        code: the number of the kind in maps for the simulator.
        mode: the CUtensorMapIm2ColWideMode, None for the other functions.
    """

    function: str
    code: int
    mode: int | None = None


KINDS: dict[str, _Kind] = {
    "tiled": _Kind("cuTensorMapEncodeTiled", 0),
    "im2col": _Kind("cuTensorMapEncodeIm2col", 1),
    "im2col_w": _Kind("cuTensorMapEncodeIm2colWide", 2, mode=0),
    "im2col_w128": _Kind("cuTensorMapEncodeIm2colWide", 3, mode=1),
}
IM2COL_KINDS = ("im2col", "im2col_w", "im2col_w128")
# The kinds whose pixels lie along W and N only.
WIDE_KINDS = ("im2col_w", "im2col_w128")


class _Swizzle(Frozen):
    """A shared-memory swizzle.

    Attributes:
        host_enumerator: the CUtensorMapSwizzle, None for a swizzle that has none.
        code: the swizzle mode in the encoded map.
        atomicity: the swizzle atomicity in the encoded map.
        span_bytes: the maximum size of a row of the box.
    """

    host_enumerator: int | None
    code: int
    atomicity: int
    span_bytes: int


# The combinations of mode and atomicity of PTX ISA 5.5.7, table "Valid combination of swizzle-atomicity".
SWIZZLES: dict[str, _Swizzle] = {
    "none": _Swizzle(0, 0, 0, 0),
    "32B": _Swizzle(1, 1, 0, 32),
    "64B": _Swizzle(2, 2, 0, 64),
    "96B": _Swizzle(None, 0, 0, 96),
    "128B": _Swizzle(3, 3, 0, 128),
    "128B_atom_32B": _Swizzle(4, 3, 1, 128),
    "128B_atom_32B_flip_8B": _Swizzle(5, 3, 2, 128),
    "128B_atom_64B": _Swizzle(6, 3, 3, 128),
}
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
FILLS = {"zero": 0, "nan": 1}
L2_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}


class _TensorElement(Frozen):
    """An element type of a tensor map.

    Attributes:
        host_enumerator: the CUtensorMapDataType.
        code: the code in the encoded map.
        bits: the size in global memory.
        is_float: whether elements outside of the tensor can be NaN.
        padded: whether 128 elements form an indivisible group that shared memory holds with padding.
        is_tf32: whether the encoded map has the flag of tf32 beside the code of f32.
    """

    host_enumerator: int
    code: int
    bits: int
    is_float: bool = False
    padded: bool = False
    is_tf32: bool = False

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes."""
        return self.bits < 8

    @property
    def group(self) -> int:
        """The elements that the innermost extent is a multiple of."""
        return PADDED_GROUP if self.padded else 2 if self.is_packed else 1


# Elements per group of a padded type.
PADDED_GROUP = 128

# CUtensorMapDataType without its prefix -> element. *_ALIGN16B types are `padded`.
DATA_TYPES: dict[str, _TensorElement] = {
    "UINT8": _TensorElement(0, 0, 8),
    "UINT16": _TensorElement(1, 1, 16),
    "UINT32": _TensorElement(2, 2, 32),
    "INT32": _TensorElement(3, 3, 32),
    "UINT64": _TensorElement(4, 4, 64),
    "INT64": _TensorElement(5, 5, 64),
    "FLOAT16": _TensorElement(6, 6, 16, is_float=True),
    "FLOAT32": _TensorElement(7, 7, 32, is_float=True),
    "FLOAT64": _TensorElement(8, 9, 64, is_float=True),
    "BFLOAT16": _TensorElement(9, 10, 16, is_float=True),
    "FLOAT32_FTZ": _TensorElement(10, 8, 32, is_float=True),
    "TFLOAT32": _TensorElement(11, 7, 32, is_float=True, is_tf32=True),
    "TFLOAT32_FTZ": _TensorElement(12, 8, 32, is_float=True, is_tf32=True),
    "16U4_ALIGN8B": _TensorElement(13, 11, 4),
    "16U4_ALIGN16B": _TensorElement(14, 12, 4, padded=True),
    "16U6_ALIGN16B": _TensorElement(15, 13, 6, padded=True),
}
# Element names in launch metadata: those of Tile IR, unsigned integers, and the types that only the driver has.
ELEMENTS: dict[str, _TensorElement] = {
    **{row.name: DATA_TYPES[row.tensor_map] for row in ELEMENT_TYPES.values() if row.tensor_map is not None},
    **{f"u{bits}": DATA_TYPES[f"UINT{bits}"] for bits in (8, 16, 32, 64)},
    "f32_ftz": DATA_TYPES["FLOAT32_FTZ"],
    "tf32_ftz": DATA_TYPES["TFLOAT32_FTZ"],
    "u4_align8b": DATA_TYPES["16U4_ALIGN8B"],
    "u4_align16b": DATA_TYPES["16U4_ALIGN16B"],
    "u6_align16b": DATA_TYPES["16U6_ALIGN16B"],
}
