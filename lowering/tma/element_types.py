"""The element types of tensor maps.

Source: CUDA driver API, CUtensorMapDataType; PTX ISA 5.5.1.
"""

from __future__ import annotations

from tilec.element_types import ELEMENT_TYPES
from tilec.frozen import Frozen


class TensorElement(Frozen):
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
DATA_TYPES: dict[str, TensorElement] = {
    "UINT8": TensorElement(0, 0, 8),
    "UINT16": TensorElement(1, 1, 16),
    "UINT32": TensorElement(2, 2, 32),
    "INT32": TensorElement(3, 3, 32),
    "UINT64": TensorElement(4, 4, 64),
    "INT64": TensorElement(5, 5, 64),
    "FLOAT16": TensorElement(6, 6, 16, is_float=True),
    "FLOAT32": TensorElement(7, 7, 32, is_float=True),
    "FLOAT64": TensorElement(8, 9, 64, is_float=True),
    "BFLOAT16": TensorElement(9, 10, 16, is_float=True),
    "FLOAT32_FTZ": TensorElement(10, 8, 32, is_float=True),
    "TFLOAT32": TensorElement(11, 7, 32, is_float=True, is_tf32=True),
    "TFLOAT32_FTZ": TensorElement(12, 8, 32, is_float=True, is_tf32=True),
    "16U4_ALIGN8B": TensorElement(13, 11, 4),
    "16U4_ALIGN16B": TensorElement(14, 12, 4, padded=True),
    "16U6_ALIGN16B": TensorElement(15, 13, 6, padded=True),
}
# Element names in launch metadata: those of Tile IR, unsigned integers, and the types that only the driver has.
ELEMENTS: dict[str, TensorElement] = {
    **{row.name: DATA_TYPES[row.tensor_map] for row in ELEMENT_TYPES.values() if row.tensor_map is not None},
    **{f"u{bits}": DATA_TYPES[f"UINT{bits}"] for bits in (8, 16, 32, 64)},
    "f32_ftz": DATA_TYPES["FLOAT32_FTZ"],
    "tf32_ftz": DATA_TYPES["TFLOAT32_FTZ"],
    "u4_align8b": DATA_TYPES["16U4_ALIGN8B"],
    "u4_align16b": DATA_TYPES["16U4_ALIGN16B"],
    "u6_align16b": DATA_TYPES["16U6_ALIGN16B"],
}
