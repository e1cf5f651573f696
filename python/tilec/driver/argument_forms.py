"""How native launches read the arguments of a type, and which parameters they know."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from tilec.language.annotations import ArrayAnnotation
from tilec.language.datatypes import DType, foreign_dtype, from_numpy
from tilec.language.kernel import Kernel
from tilec.runtime.streams import library_of

_UNKNOWN = "unknown", "", ""


def form_of_type(value: object) -> tuple[str, str, str]:
    """The form of the values of this type, the element type of a scalar, and the library with a current stream.

    The forms are those of `form_names` in runtime/dispatch/reader.cpp. Objects of unknown types take the Python path.
    """
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        return ("scalar", dtype.element, "") if dtype is not None and _has_buffer(value) else _UNKNOWN
    if isinstance(value, np.ndarray):
        # Host arrays, whose memory the Python path copies.
        return _UNKNOWN
    # A member of an IntEnum is a number of the launch unless its parameter is a constant.
    is_member = isinstance(value, Enum) and not isinstance(value, int | float)
    if is_member or isinstance(value, DType) or foreign_dtype(value) is not None:
        return "identity", "", ""
    return _array_form(value), "", library_of(value) or ""


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


def parameter_rules(kernel: Kernel) -> list[tuple[bool, tuple[int, ...], tuple[int, ...]] | None]:
    """For each parameter whether it is a constant, and the dimensions with constant extents and strides."""
    return [_rule(kernel, name) for name in kernel.parameters]


def _rule(kernel: Kernel, name: str) -> tuple[bool, tuple[int, ...], tuple[int, ...]] | None:
    """None if the annotation is of the items of a tuple or of the arrays of a list."""
    annotation = kernel.annotations[name]
    if annotation.items is not None or annotation.each is not None or annotation.list is not None:
        return None
    array = annotation.array or ArrayAnnotation()
    return annotation.constant, array.static_shape_dims, array.static_stride_dims
