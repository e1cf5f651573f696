"""Derives the signature of a call, specialized for the strides and the alignment of its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tilec.errors import ArgumentOverflowError, ArgumentTypeError
from tilec.frozen import replace
from tilec.language.datatypes import DType, bool_, float32, foreign_dtype, from_numpy, int32, int64
from tilec.language.parameter_annotations import ParameterAnnotation, field_annotations
from tilec.runtime.arguments.arguments import Argument, ConstantArgument, RecordArgument, ScalarArgument, TupleArgument
from tilec.runtime.arguments.structured_values import check_plain_tuple, fields_of
from tilec.runtime.arrays import is_array, view
from tilec.specialization.argument_values import Constant, constant_value
from tilec.specialization.array_properties import array_argument, list_argument

if TYPE_CHECKING:
    from tilec.language.kernel_declaration import KernelDeclaration


def arguments_of_call(kernel: KernelDeclaration, arguments: Sequence[object]) -> tuple[Argument, ...]:
    """The arguments of the signature of a call: the properties of arrays, types of scalars and values of constants.

    The properties of an array are its element type, rank, strides of 0 and 1, alignment, and the divisors of its
    strides and of the extent along which elements are adjacent. A tuple and a dataclass have those of their items.
    Calls whose arguments agree in these properties have the same signature and share a compiled kernel.
    Raises ArgumentTypeError, ArgumentValueError or ArgumentOverflowError if an argument does not match its parameter.
    """
    if len(arguments) != len(kernel.parameters):
        names = ", ".join(kernel.parameters)
        raise ArgumentTypeError(
            f"kernel '{kernel.name}' takes {len(kernel.parameters)} arguments ({names}), got {len(arguments)}"
        )
    return tuple(
        _argument(name, value, kernel.annotations[name])
        for name, value in zip(kernel.parameters, arguments, strict=True)
    )


def _argument(name: str, value: object, annotation: ParameterAnnotation) -> Argument:
    annotation.check(name)
    check_plain_tuple(name, value)
    if not annotation.constant and is_array(value) and not isinstance(value, np.generic):
        return array_argument(name, view(value, name), annotation.array)
    if _is_always_constant(value):
        return ConstantArgument(name, constant_value(_constant(name, value)))
    fields = fields_of(value)
    if fields is not None:
        return _record(name, type(value), fields, annotation)
    if isinstance(value, tuple):
        return _tuple(name, value, annotation)
    if annotation.constant:
        return ConstantArgument(name, constant_value(_constant(name, value)))
    if isinstance(value, list):
        return list_argument(name, value, annotation.list)
    return ScalarArgument(name, _scalar(name, value, annotation).element)


def _tuple(name: str, values: tuple[object, ...], annotation: ParameterAnnotation) -> TupleArgument:
    if annotation.items is not None and len(annotation.items) != len(values):
        raise ArgumentTypeError(
            f"argument '{name}': expected a tuple of {len(annotation.items)} as annotated, got one of {len(values)}"
        )
    return TupleArgument(
        name, tuple(_argument(f"{name}[{i}]", value, annotation.item(i)) for i, value in enumerate(values))
    )


def _record(name: str, kind: type, fields: Mapping[str, object], annotation: ParameterAnnotation) -> RecordArgument:
    annotations = field_annotations(kind)
    items = []
    for field, value in fields.items():
        found = annotations.get(field, ParameterAnnotation())
        constant = annotation.constant or found.constant
        items.append(_argument(f"{name}.{field}", value, replace(found, constant=constant)))
    return RecordArgument(name, kind.__qualname__.rpartition(".")[2], tuple(items), kind)


def _is_always_constant(value: object) -> bool:
    """Whether kernels have no run-time values of this type, so that it is a constant without an annotation."""
    if isinstance(value, Enum):
        # A member of an IntEnum is an integer.
        return not isinstance(value, int | float)
    return value is None or isinstance(value, str | DType) or foreign_dtype(value) is not None


def _constant(name: str, value: object) -> Constant:
    if isinstance(value, np.generic) and value.shape == ():
        value = value.item()
    value = foreign_dtype(value) or value
    if value is None or isinstance(value, bool | int | float | str | Enum | DType):
        return value
    raise ArgumentTypeError(
        f"argument '{name}' is a ct.Constant and takes a bool, int, float, str or element type, a member of an "
        f"enumeration, None, or a tuple or dataclass of them, got {type(value).__name__}"
    )


def _scalar(name: str, value: object, annotation: ParameterAnnotation) -> DType:
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        if dtype is not None:
            return dtype
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        for dtype in (annotation.scalar.dtype,) if annotation.scalar else (int32, int64):
            least, greatest = dtype.range
            if least <= value <= greatest:
                return dtype
        raise ArgumentOverflowError(f"argument '{name}' is out of range of {dtype}: {value}")
    if isinstance(value, float):
        return float32
    raise ArgumentTypeError(
        f"argument '{name}': expected an array or a number, got {type(value).__name__} "
        "(tuples, dataclasses and lists contain arrays and numbers)"
    )
