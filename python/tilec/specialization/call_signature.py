"""Derives the signature of a call, specialized for the strides and the alignment of its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilec.errors import InputError
from tilec.language.annotations import ArrayAnnotation
from tilec.language.datatypes import DType, bool_, float32, foreign_dtype, from_numpy, int32, int64
from tilec.runtime.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument
from tilec.runtime.arrays import ArrayView, is_array, row_major, view
from tilec.specialization.argument_values import DEFAULT_ALIGNMENT, constant_value, elements_per

if TYPE_CHECKING:
    from tilec.language.kernel import Kernel


def arguments_of_call(kernel: Kernel, arguments: Sequence[object]) -> tuple[Argument, ...]:
    """The arguments of the signature of a call: the properties of arrays, types of scalars and values of constants.

    The properties of an array are its element type, rank, unit strides, alignment, and the divisors of its strides and
    of the extent along which elements are adjacent.
    Calls whose arguments agree in these properties have the same signature and share a compiled kernel.
    Raises InputError if an argument does not match its parameter.
    """
    if len(arguments) != len(kernel.parameters):
        names = ", ".join(kernel.parameters)
        raise InputError(
            f"kernel '{kernel.name}' takes {len(kernel.parameters)} arguments ({names}), got {len(arguments)}"
        )
    return tuple(map(lambda name, value: _argument(kernel, name, value), kernel.parameters, arguments))


def _argument(kernel: Kernel, name: str, value: object) -> Argument:
    if name in kernel.constants:
        return ConstantArgument(name, constant_value(_constant(name, value)))
    if is_array(value) and not isinstance(value, np.generic):
        return _array(name, view(value, name), kernel.array_annotations.get(name, ArrayAnnotation()))
    return ScalarArgument(name, _scalar(name, value, kernel.scalar_types.get(name)).element)


def _constant(name: str, value: object) -> bool | int | float | str | None | DType:
    if isinstance(value, np.generic) and value.shape == ():
        value = value.item()
    value = foreign_dtype(value) or value
    if value is None or isinstance(value, bool | int | float | str | DType):
        return value
    raise InputError(
        f"argument '{name}' is a ct.Constant and takes a bool, int, float, str or element type, "
        f"got {type(value).__name__}"
    )


def _scalar(name: str, value: object, annotated: DType | None) -> DType:
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        if dtype is not None:
            return dtype
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        for dtype in (annotated,) if annotated else (int32, int64):
            least, greatest = dtype.range
            if least <= value <= greatest:
                return dtype
        raise InputError(f"argument '{name}' is out of range of {dtype}: {value}")
    if isinstance(value, float):
        return float32
    raise InputError(f"argument '{name}': expected an array or a number, got {type(value).__name__}")


def _array(name: str, array: ArrayView, annotation: ArrayAnnotation) -> ArrayArgument:
    rank = len(array.shape)
    element = from_numpy(array.dtype)
    if element is None:
        raise InputError(f"argument '{name}': arrays of {array.dtype} cannot be passed to a kernel")
    per_alignment = elements_per(DEFAULT_ALIGNMENT, element)
    found = _strides(array, per_alignment)
    for quantity, values in (("extent", array.shape), ("stride", found)):
        for value in values:
            if not 0 <= value <= int32.range[1]:
                raise InputError(f"argument '{name}': a {quantity} of {value} is outside of 0 to {int32.range[1]}")
    static_shape = _dimensions(name, annotation.static_shape_dims, rank)
    static_strides = _dimensions(name, annotation.static_stride_dims, rank)
    strides = tuple(
        stride if (axis in static_strides if static_strides else stride == 1) else None
        for axis, stride in enumerate(found)
    )
    shape = tuple(extent if axis in static_shape else None for axis, extent in enumerate(array.shape))
    # A vector access is as a whole inside or outside of the extent, along which elements are adjacent. In a row-major
    # matrix this extent is divisible if the stride is, so it needs no more kernels.
    shape_divisors = tuple(
        per_alignment if known is None and stride == 1 and extent % per_alignment == 0 else 1
        for known, stride, extent in zip(shape, strides, array.shape, strict=True)
    )
    stride_divisors = tuple(
        per_alignment if known is None and stride % per_alignment == 0 else 1
        for known, stride in zip(strides, found, strict=True)
    )
    alignment = DEFAULT_ALIGNMENT if array.address % DEFAULT_ALIGNMENT == 0 else element.bitwidth // 8
    return ArrayArgument(name, element.element, shape, strides, alignment, shape_divisors, stride_divisors)


def _strides(array: ArrayView, per_alignment: int) -> tuple[int, ...]:
    """The strides; those of an array without elements, which numpy sets to 0, are of a row-major one with some.

    So it has the kernel of other arrays, which may copy by TMA.
    """
    if 0 not in array.shape:
        return array.strides
    return row_major(tuple(extent or per_alignment for extent in array.shape))


def _dimensions(name: str, dimensions: tuple[int, ...], rank: int) -> set[int]:
    for dimension in dimensions:
        if not -rank <= dimension < rank:
            raise InputError(
                f"argument '{name}': its annotation names dimension {dimension} of an array of rank {rank}"
            )
    chosen = {dimension % rank for dimension in dimensions}
    if len(chosen) != len(dimensions):
        raise InputError(f"argument '{name}': its annotation names a dimension twice in {dimensions}")
    return chosen
