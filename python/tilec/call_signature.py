"""The signature that a call's arguments ask for, specialised by what is seen in its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilec.annotations import ArrayAnnotation
from tilec.datatypes import DType, bool_, float32, from_numpy, int32, int64
from tilec.errors import InputError
from tilec.host_array import HostArray, is_array, view
from tilec.signature import (
    DEFAULT_ALIGNMENT,
    Argument,
    ArrayArgument,
    ConstantArgument,
    ScalarArgument,
    Signature,
    elements_per,
)

if TYPE_CHECKING:
    from tilec.kernel import Kernel


def from_arguments(kernel: Kernel, arguments: Sequence[Any]) -> Signature:
    """Element types, ranks, unit strides and 16-byte alignment of arrays; types of scalars; values of constants.

    Two calls have the same signature, and so share a compiled kernel, if they differ in nothing the code relies on.
    Raises InputError where an argument does not fit its parameter.
    """
    if len(arguments) != len(kernel.parameters):
        names = ", ".join(kernel.parameters)
        raise InputError(
            f"kernel '{kernel.name}' takes {len(kernel.parameters)} arguments ({names}), got {len(arguments)}"
        )
    return Signature(tuple(map(lambda name, value: _argument(kernel, name, value), kernel.parameters, arguments)))


def check(signature: Signature, arguments: Sequence[Any]) -> None:
    """Raise InputError where an argument breaks what the compiled kernel relies on: type, rank, extents, alignment."""
    if len(arguments) != len(signature.arguments):
        names = ", ".join(signature.names)
        raise InputError(f"the kernel takes {len(signature.arguments)} arguments ({names}), got {len(arguments)}")
    for expected, value in zip(signature, arguments, strict=True):
        if isinstance(expected, ArrayArgument) and is_array(value):
            _check_array(expected, view(value))
        elif isinstance(expected, ConstantArgument) and not _same_constant(expected.value, value):
            raise InputError(f"the kernel was compiled for {expected}, got {expected.name}={value!r}")


def _argument(kernel: Kernel, name: str, value: Any) -> Argument:
    if name in kernel.constants:
        return ConstantArgument(name, _constant(name, value))
    if is_array(value) and not isinstance(value, np.generic):
        try:
            return _array(name, view(value), kernel.array_annotations.get(name, ArrayAnnotation()))
        except InputError as problem:
            raise InputError(f"argument '{name}': {problem.message}") from problem
    return ScalarArgument(name, _scalar(name, value, kernel.scalar_types.get(name)))


def _constant(name: str, value: Any) -> Any:
    if isinstance(value, np.generic) and value.shape == ():
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str | DType):
        return value
    raise InputError(
        f"argument '{name}' is a ct.Constant and takes a bool, int, float, str or element type, "
        f"got {type(value).__name__}"
    )


def _scalar(name: str, value: Any, forced: DType | None) -> DType:
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        if dtype is not None:
            return dtype
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        for dtype in (forced,) if forced else (int32, int64):
            least, greatest = dtype.range
            if least <= value <= greatest:
                return dtype
        raise InputError(f"argument '{name}' is out of range of {dtype}: {value}")
    if isinstance(value, float):
        return float32
    raise InputError(f"argument '{name}': expected an array or a number, got {type(value).__name__}")


def _array(name: str, array: HostArray, annotation: ArrayAnnotation) -> ArrayArgument:
    rank = len(array.shape)
    for what, values in (("extent", array.shape), ("stride", array.strides)):
        for value in values:
            if not 0 <= value <= int32.range[1]:
                raise InputError(f"a {what} of {value} is outside of 0 to {int32.range[1]}")
    static_shape = _dimensions(annotation.static_shape_dims, rank)
    static_strides = _dimensions(annotation.static_stride_dims, rank)
    per_alignment = elements_per(DEFAULT_ALIGNMENT, array.element)
    strides = tuple(
        stride if (dimension in static_strides if static_strides else stride == 1) else None
        for dimension, stride in enumerate(array.strides)
    )
    return ArrayArgument(
        name,
        array.element,
        tuple(extent if dimension in static_shape else None for dimension, extent in enumerate(array.shape)),
        strides,
        DEFAULT_ALIGNMENT if array.address % DEFAULT_ALIGNMENT == 0 else array.element.bitwidth // 8,
        (1,) * rank,
        tuple(
            per_alignment if known is None and stride % per_alignment == 0 else 1
            for known, stride in zip(strides, array.strides, strict=True)
        ),
    )


def _dimensions(dimensions: tuple[int, ...], rank: int) -> set[int]:
    for dimension in dimensions:
        if not -rank <= dimension < rank:
            raise InputError(f"the annotation names dimension {dimension} of an array of rank {rank}")
    return {dimension % rank for dimension in dimensions}


def _same_constant(expected: Any, value: Any) -> bool:
    return type(expected) is type(value) and (expected == value or expected != expected and value != value)


def _check_array(expected: ArrayArgument, array: HostArray) -> None:
    name = expected.name
    if array.element is not expected.element:
        raise InputError(f"argument '{name}': expected elements of {expected.element}, got {array.element}")
    if len(array.shape) != expected.rank:
        raise InputError(f"argument '{name}': expected an array of rank {expected.rank}, got {len(array.shape)}")
    if array.address % expected.alignment:
        raise InputError(
            f"argument '{name}': expected an address aligned to {expected.alignment} bytes, got 0x{array.address:x}; "
            f"compile with 'align {array.element.bitwidth // 8}' for arrays that are not aligned"
        )
    _check_dimensions(name, "extent", expected.shape, expected.shape_divisibility, array.shape)
    _check_dimensions(name, "stride", expected.strides, expected.stride_divisibility, array.strides)


def _check_dimensions(
    name: str, what: str, known: tuple[int | None, ...], divisors: tuple[int, ...], values: tuple[int, ...]
) -> None:
    for dimension, (expected, divisor, value) in enumerate(zip(known, divisors, values, strict=True)):
        wanted = f"of {expected}" if expected is not None else f"divisible by {divisor} elements"
        if value != expected if expected is not None else value % divisor:
            raise InputError(f"argument '{name}': expected {what} {dimension} {wanted}, got {value}")
