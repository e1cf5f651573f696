"""What a parameter of a kernel may be annotated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeVar

from tilec.language.datatypes import DType, int32, int64

T = TypeVar("T")


class ConstantAnnotation:
    """The parameter is a compile-time constant; the kernel is compiled once for each value."""

    def __repr__(self) -> str:
        return "ConstantAnnotation()"


@dataclass(frozen=True, kw_only=True)
class ArrayAnnotation:
    """Extents and strides that shall be compile-time constants, by dimension (negative counts from the end).

    Raises ValueError for an `index_dtype` other than int32: extents and strides are 32-bit integers; TypeError where
    dimensions are not a tuple of integers.
    """

    index_dtype: DType = int32
    static_shape_dims: tuple[int, ...] = ()
    static_stride_dims: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.index_dtype is not int32:
            raise ValueError(f"expected an index_dtype of int32, got {self.index_dtype}")
        for name in ("static_shape_dims", "static_stride_dims"):
            _check_dimensions(name, getattr(self, name))


def _check_dimensions(name: str, dimensions: object) -> None:
    if not isinstance(dimensions, tuple):
        raise TypeError(f"expected {name} as a tuple of integers, got {dimensions!r}")
    for dimension in dimensions:
        if isinstance(dimension, bool) or not isinstance(dimension, int):
            raise TypeError(f"expected integers in {name}, got {dimension!r}")


@dataclass(frozen=True, kw_only=True)
class ScalarAnnotation:
    """The type of an integer parameter: int32 or int64."""

    dtype: DType

    def __post_init__(self) -> None:
        if self.dtype not in (int32, int64):
            raise ValueError(f"expected a dtype of int32 or int64, got {self.dtype}")


Constant = Annotated[T, ConstantAnnotation()]
ScalarInt64 = Annotated[T, ScalarAnnotation(dtype=int64)]
