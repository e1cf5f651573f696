"""How native launches read the arguments of a type, and which parameters they know."""

from __future__ import annotations

from copy import copy
from enum import Enum
from typing import Any

import numpy as np

from tilec.language.annotations import ArrayAnnotation
from tilec.language.datatypes import DType, foreign_dtype, from_numpy, int64
from tilec.language.kernel import Kernel
from tilec.language.parameter_annotations import ParameterAnnotation, field_annotations
from tilec.runtime.arguments.structured_values import fields_of
from tilec.runtime.arrays import is_array
from tilec.runtime.devices.streams import library_of

_UNKNOWN = "unknown", "", "", ()
# Whether the parameter is a constant and whether its extents are 64-bit, the dimensions with constant extents and
# strides, the rules of the items of a tuple, the rule of all its items, and that of the arrays of a list.
Rule = tuple[bool, bool, tuple[int, ...], tuple[int, ...], tuple["Rule", ...], tuple["Rule", ...], tuple["Rule", ...]]
Form = tuple[str, str, str, tuple[tuple[str, Rule], ...]]


def form_of_type(value: object) -> Form:
    """How values of this type are read.

    Returns:
        The form, which is one of `form_names` in runtime/dispatch/arguments/reader.cpp, the element type of a scalar,
        the library with a current stream, and the names and rules of the fields of a dataclass. Objects of unknown
        types take the Python path.
    """
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        return ("scalar", dtype.element, "", ()) if dtype is not None and _has_buffer(value) else _UNKNOWN
    if isinstance(value, np.ndarray | tuple):
        # Host arrays, whose memory the Python path copies, and classes derived from tuple, which it refuses.
        return _UNKNOWN
    if is_array(value):
        return _array_form(value), "", library_of(value) or "", ()
    if isinstance(value, int | float):
        number = "integer" if isinstance(value, int) else "real"
        return f"{number} member" if isinstance(value, Enum) else number, "", "", ()
    if isinstance(value, Enum | DType | type) or foreign_dtype(value) is not None:
        return "identity", "", "", ()
    return ("record", "", "", _fields(type(value))) if fields_of(value) is not None else _UNKNOWN


def _fields(kind: Any) -> tuple[tuple[str, Rule], ...]:
    """The names and the rules of the fields of a dataclass."""
    # Imported here because most launches have no dataclass.
    import dataclasses

    annotations = field_annotations(kind)
    return tuple((field.name, rule_of(annotations[field.name])) for field in dataclasses.fields(kind))


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def _array_form(value: object) -> str:
    """As tilec.runtime.arrays.view, which prefers DLPack."""
    if hasattr(type(value), "__dlpack_c_exchange_api__"):
        return "tensor"
    if hasattr(value, "__dlpack__"):
        return "torch" if type(value).__module__ == "torch" and type(value).__name__ == "Tensor" else "capsule"
    return "interface" if hasattr(value, "__cuda_array_interface__") else "unknown"


def parameter_rules(kernel: Kernel) -> list[Rule]:
    """The rule of each parameter."""
    return [rule_of(kernel.annotations[name]) for name in kernel.parameters]


def rule_of(annotation: ParameterAnnotation) -> Rule:
    """What of an annotation selects the compiled kernel, as runtime/dispatch/arguments/parameter_rule.cpp reads it."""
    array = annotation.array or ArrayAnnotation()
    listed = () if annotation.list is None else (rule_of(ParameterAnnotation(array=annotation.list.element)),)
    return (
        annotation.constant,
        array.index_dtype is int64,
        array.static_shape_dims,
        array.static_stride_dims,
        tuple(map(rule_of, annotation.items or ())),
        () if annotation.each is None else (rule_of(annotation.each),),
        listed,
    )


def copy_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with copies of lists and dataclasses, which other threads may change during a compile."""
    return tuple(map(_copied, args))


def _copied(value: Any) -> Any:
    if type(value) is tuple or type(value) is list:
        return type(value)(map(_copied, value))
    if is_array(value) or isinstance(value, Enum) or (fields := fields_of(value)) is None:
        return value
    copied = copy(value)
    for name, field in fields.items():
        # A frozen dataclass refuses assignments.
        object.__setattr__(copied, name, _copied(field))
    return copied
