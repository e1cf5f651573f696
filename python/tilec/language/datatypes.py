"""The element types of arrays and tiles, such as `ct.float16`, and their promotion rules."""

from __future__ import annotations

import functools
import sys
from enum import IntEnum
from typing import TYPE_CHECKING

from tilec.element_types import EXTENSION_FLOATS, element_type
from tilec.errors import HostCallError, TileTypeError, TileValueError
from tilec.frozen import Frozen
from tilec.language.kernel_function import compile_time_handler

if TYPE_CHECKING:
    import numpy as np


class Category(IntEnum):
    """The category of an element type: promotion selects the higher one.

    RESTRICTED types support no arithmetic, and tiles have no elements of POINTER types.
    """

    POINTER = -1
    BOOLEAN = 0
    INTEGRAL = 1
    FLOAT = 2
    RESTRICTED = 3


class DType(Frozen, eq=False):
    """An element type; in a kernel, calling it creates a scalar of that type: `ct.int16(5)`.

    Args:
        name: the name in Python.
        element: the name in signatures and Tile IR; Tile IR uses `i8` for `u8` as well.
        bitwidth: the width in memory, in bits.
        category: the category, which determines promotion.
        signed: whether an integer type is signed.

    Raises:
        RuntimeError: a type is called on the host (also a CompileError).

    Example:
        >>> ct.uint8.bitwidth, ct.uint8.range, ct.uint8.is_integral
        (8, (0, 255), True)
        >>> @ct.kernel
        ... def example(): print(ct.uint8(3) - ct.uint8(5))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        254
    """

    name: str
    element: str
    bitwidth: int
    category: Category
    signed: bool = True
    # The element type of the memory that a foreign pointer points to.
    pointee: DType | None = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<DType '{self.name}'>"

    def __reduce__(self) -> tuple[object, ...]:
        return (by_element, (self.element,)) if self.pointee is None else (pointer_to, (self.pointee,))

    def __call__(self, value: object = 0, /) -> object:
        if (handler := compile_time_handler()) is not None:
            return handler(self, (value,), {})
        raise HostCallError(f"'{self.name}(...)' can be called inside a kernel only: on the host use numpy")

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.category >= Category.FLOAT

    @property
    def is_arithmetic(self) -> bool:
        return self.category not in (Category.RESTRICTED, Category.POINTER)

    @property
    def is_integral(self) -> bool:
        return self.category == Category.INTEGRAL

    @property
    def is_boolean(self) -> bool:
        return self.category == Category.BOOLEAN

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        if self.signed:
            return -(1 << self.bitwidth - 1), (1 << self.bitwidth - 1) - 1
        return 0, (1 << self.bitwidth) - 1


def _integer(width: int, signed: bool) -> DType:
    prefix, letter = ("int", "i") if signed else ("uint", "u")
    return DType(f"{prefix}{width}", f"{letter}{width}", width, Category.INTEGRAL, signed)


def _from_table(name: str, element: str, category: Category, signed: bool = True) -> DType:
    row = element_type(element)
    bits = row.value_bits if element in EXTENSION_FLOATS else row.storage_bits
    return DType(name, element, bits, category, signed)


bool_ = _from_table("bool_", "i1", Category.BOOLEAN, signed=False)
uint8, uint16, uint32, uint64 = (_integer(width, False) for width in (8, 16, 32, 64))
int8, int16, int32, int64 = (_integer(width, True) for width in (8, 16, 32, 64))
float16 = _from_table("float16", "f16", Category.FLOAT)
bfloat16 = _from_table("bfloat16", "bf16", Category.FLOAT)
float32 = _from_table("float32", "f32", Category.FLOAT)
float64 = _from_table("float64", "f64", Category.FLOAT)
tfloat32 = _from_table("tfloat32", "tf32", Category.RESTRICTED)
float8_e4m3fn = _from_table("float8_e4m3fn", "f8E4M3FN", Category.RESTRICTED)
float8_e5m2 = _from_table("float8_e5m2", "f8E5M2", Category.RESTRICTED)
float8_e8m0fnu = _from_table("float8_e8m0fnu", "f8E8M0FNU", Category.RESTRICTED)
float8_e5m3fnu = _from_table("float8_e5m3fnu", "fnv8E5M3FNU", Category.RESTRICTED)
float6_e2m3fn = _from_table("float6_e2m3fn", "f6E2M3FN", Category.RESTRICTED)
float6_e3m2fn = _from_table("float6_e3m2fn", "f6E3M2FN", Category.RESTRICTED)
float4_e2m1fn = _from_table("float4_e2m1fn", "f4E2M1FN", Category.RESTRICTED)

UNSIGNED = (uint8, uint16, uint32, uint64)
SIGNED = (int8, int16, int32, int64)
FLOATS = (float16, bfloat16, float32, float64)
EIGHT_BIT_FLOATS = (float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float8_e5m3fnu)
SIX_BIT_FLOATS = (float6_e2m3fn, float6_e3m2fn)
# The floats of less than 8 bits, which share bytes in memory.
PACKED_FLOATS = (*SIX_BIT_FLOATS, float4_e2m1fn)
ALL = (bool_, *UNSIGNED, *SIGNED, *FLOATS, tfloat32, *EIGHT_BIT_FLOATS, *PACKED_FLOATS)

_BY_ELEMENT = {dtype.element: dtype for dtype in ALL}
_BY_NAME = {dtype.name: dtype for dtype in ALL} | {"bool": bool_}


@functools.cache
def pointer_to(pointee: DType) -> DType:
    """The type of foreign pointers to elements of a type; the same object for each call."""
    name = f"foreign_pointer[{pointee.name}]"
    return DType(name, f"ptr<{pointee.element}>", 64, Category.POINTER, False, pointee)


def by_element(element: str) -> DType | None:
    """The type with this name in signatures (`f16`, `u8`, `i1`); None for an unknown name."""
    return _BY_ELEMENT.get(element)


def by_name(name: str) -> DType | None:
    """The type with this name in numpy, torch or `ct` (`float16`, `bool`); None for an unknown name."""
    return _BY_NAME.get(name)


def from_numpy(dtype: np.dtype) -> DType | None:
    """The element type for a type of numpy or ml_dtypes; None if tiles do not support it."""
    # 1 marks the types that numpy itself defines (numpy.dtype.isbuiltin).
    return _by_numpy(dtype.isbuiltin == 1).get(dtype)


@functools.cache
def _by_numpy(only_numpy: bool) -> dict[np.dtype, DType]:
    # numpy has neither tf32 nor e5m3, and no arrays of packed elements.
    without = (*UNSIGNED, tfloat32, float8_e5m3fnu, *PACKED_FLOATS)
    signed = [dtype for dtype in ALL if dtype not in without]
    rows = {dtype: element_type(dtype.element) for dtype in signed}
    default = {
        row.dtypes[0]: dtype for dtype, row in rows.items() if not only_numpy or row.dtype_names[0].startswith("numpy.")
    }
    # The default type of an integer of Tile IR is the signed one.
    unsigned = {element_type(f"i{dtype.bitwidth}").dtypes[1]: dtype for dtype in UNSIGNED}
    return {**unsigned, **default}


def foreign_dtype(value: object) -> DType | None:
    """The element type for a type object such as `np.float32` or `torch.float32`; None for any other object."""
    # An object of numpy exists only where numpy is loaded.
    np = sys.modules.get("numpy")
    if np is not None and (isinstance(value, np.dtype) or isinstance(value, type) and issubclass(value, np.generic)):
        try:
            return from_numpy(np.dtype(value))
        except TypeError:
            return None
    module, name = type(value).__module__, type(value).__name__
    return by_name(str(value).removeprefix("torch.")) if (module, name) == ("torch", "dtype") else None


def of_literal(value: bool | int | float) -> DType:
    """The default element type of a Python number."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    for dtype in (int32, int64, uint64):
        least, greatest = dtype.range
        if least <= value <= greatest:
            return dtype
    raise TileValueError(f"the integer {value} is out of range of every integer type")


def promote(lhs: DType, rhs: DType) -> DType:
    """The common type of two typed operands.

    It is the type of the higher category, or the wider type within one category. Raises TileTypeError for pairs that
    need an explicit `astype`: signed and unsigned, float16 and bfloat16, and a restricted float with any other type.
    """
    if lhs is rhs:
        return lhs
    if Category.RESTRICTED in (lhs.category, rhs.category):
        raise _no_promotion(lhs, rhs)
    if lhs.category != rhs.category:
        return max(lhs, rhs, key=lambda dtype: dtype.category)
    if lhs.signed != rhs.signed or {lhs, rhs} == {float16, bfloat16}:
        raise _no_promotion(lhs, rhs)
    return max(lhs, rhs, key=lambda dtype: dtype.bitwidth)


def promote_literal(dtype: DType, value: bool | int | float) -> DType:
    """The common type of a typed operand and a Python number: `dtype`, unless the category of the number is higher."""
    literal = of_literal(value)
    if literal.category > dtype.category:
        return literal
    if dtype.is_integral and literal.is_integral:
        least, greatest = dtype.range
        if not least <= value <= greatest:
            raise TileValueError(f"the integer {value} is out of range of {dtype} ({least} to {greatest})")
    return dtype


def _no_promotion(lhs: DType, rhs: DType) -> TileTypeError:
    return TileTypeError(f"{lhs} and {rhs} have no common type: convert one of them with astype()")
