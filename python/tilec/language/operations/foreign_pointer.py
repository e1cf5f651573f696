"""Foreign pointers: addresses of arrays without extents and strides."""

from __future__ import annotations

from tilec.errors import TileTypeError
from tilec.language.datatypes import DType, pointer_to
from tilec.language.kernel_function import in_kernels_only, kernel_function


class ForeignPointer:
    """The address of the first element of an array, the result of `Array.foreign_pointer`.

    It has no arithmetic: `Array.from_foreign` makes an array from it.

    Example:
        >>> @ct.kernel
        ... def example(x): print(x.foreign_pointer.dtype)
        >>> ct.launch(None, 1, example, (np.zeros(4, np.float32),), backend="interpret")
        foreign_pointer[float32]
    """

    @property
    def dtype(self) -> DType:
        """The type of foreign pointers to elements of the array, a constant."""
        in_kernels_only("dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents: (), those of a scalar."""
        in_kernels_only("shape")

    @property
    def ndim(self) -> int:
        """The number of dimensions: 0, that of a scalar."""
        in_kernels_only("ndim")


def _on_host(pointee_dtype: object) -> DType:
    if not isinstance(pointee_dtype, DType):
        raise TileTypeError(f"'ct.foreign_pointer_dtype' takes a type such as ct.float32, got {pointee_dtype!r}")
    if pointee_dtype.pointee is not None:
        raise TileTypeError(f"'ct.foreign_pointer_dtype' takes the type of an element, got {pointee_dtype}")
    return pointer_to(pointee_dtype)


@kernel_function(on_host=_on_host)
def foreign_pointer_dtype(pointee_dtype: DType) -> DType:
    """The type of foreign pointers to elements of a type; can also be called on the host.

    Args:
        pointee_dtype: the element type of the array.

    Returns:
        A type of 64 bits, the same object for each call.

    Raises:
        TileTypeError: `pointee_dtype` is not an element type, or is a type of foreign pointers.

    Example:
        >>> ct.foreign_pointer_dtype(ct.float32)
        <DType 'foreign_pointer[float32]'>
    """
