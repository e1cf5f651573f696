"""Annotations of the parameters of kernels."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar, get_args, get_origin

from tilec.frozen import Frozen
from tilec.language.datatypes import DType, int32, int64

T = TypeVar("T")


class ConstantAnnotation:
    """Marks a parameter as a compile-time constant; the kernel is compiled once for each of its values.

    `ct.Constant[int]` is an abbreviation of `Annotated[int, ct.ConstantAnnotation()]`.

    Example:
        >>> from typing import Annotated
        >>> @ct.kernel
        ... def example(n: Annotated[int, ct.ConstantAnnotation()]): print(ct.arange(n, dtype=ct.int32))
        >>> ct.launch(None, 1, example, (4,), backend="interpret")
        [0, 1, 2, 3]
    """

    def __repr__(self) -> str:
        return "ConstantAnnotation()"


class ArrayAnnotation(Frozen, kw_only=True):
    """Selects extents and strides that become compile-time constants, by dimension; -1 is the last dimension.

    Args:
        index_dtype: the type of extents and strides, int32 or int64; int64 for arrays with extents or strides of 2^31
            or more.
        static_shape_dims: the dimensions whose extents are constants.
        static_stride_dims: the dimensions whose strides are constants.

    Raises:
        ValueError: `index_dtype` is neither int32 nor int64.
        TypeError: dimensions are not a tuple of integers.

    Example:
        >>> from typing import Annotated
        >>> @ct.kernel
        ... def example(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,))]):
        ...     print(ct.ones(x.shape[0], ct.int32))
        >>> ct.launch(None, 1, example, (np.zeros(4),), backend="interpret")
        [1, 1, 1, 1]
    """

    index_dtype: DType = int32
    static_shape_dims: tuple[int, ...] = ()
    static_stride_dims: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.index_dtype not in (int32, int64):
            raise ValueError(f"expected an index_dtype of int32 or int64, got {self.index_dtype}")
        for name in ("static_shape_dims", "static_stride_dims"):
            _check_dimensions(name, getattr(self, name))


def _check_dimensions(name: str, dimensions: object) -> None:
    if not isinstance(dimensions, tuple):
        raise TypeError(f"expected {name} as a tuple of integers, got {dimensions!r}")
    for dimension in dimensions:
        if isinstance(dimension, bool) or not isinstance(dimension, int):
            raise TypeError(f"expected integers in {name}, got {dimension!r}")


class ScalarAnnotation(Frozen, kw_only=True):
    """The type of an integer parameter: int32 or int64."""

    dtype: DType


class ListAnnotation(Frozen, kw_only=True):
    """Annotates the arrays of a list.

    Args:
        element: an ArrayAnnotation, or an annotated type that contains one, such as ct.IndexedWithInt64.

    Raises:
        TypeError: `element` does not contain exactly one ArrayAnnotation.

    Example:
        >>> from typing import Annotated
        >>> @ct.kernel
        ... def example(xs: Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(static_shape_dims=(0,)))]):
        ...     print(ct.load(xs[1], 0, xs[0].shape[0]))
        >>> ct.launch(None, 1, example, ([np.zeros(2, np.int32), np.ones(2, np.int32)],), backend="interpret")
        [1, 1]
    """

    element: Any

    def __post_init__(self) -> None:
        found = [self.element]
        if get_origin(self.element) is Annotated:
            found = [item for item in get_args(self.element)[1:] if isinstance(item, ArrayAnnotation)]
        if len(found) != 1 or not isinstance(found[0], ArrayAnnotation):
            raise TypeError(f"expected an element with one ArrayAnnotation, got {self.element!r}")
        object.__setattr__(self, "element", found[0])


Constant = Annotated[T, ConstantAnnotation()]
ScalarInt64 = Annotated[T, ScalarAnnotation(dtype=int64)]
IndexedWithInt64 = Annotated[T, ArrayAnnotation(index_dtype=int64)]
