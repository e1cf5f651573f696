"""Views of arrays of other libraries, without a copy."""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilec.errors import InputError
from tilec.runtime import arrays
from tilec.runtime.arrays import ArrayView, is_array, view


class Exporter:
    """Exports DLPack only, like torch and jax."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def fields(array: ArrayView) -> tuple[Any, ...]:
    return array.address, array.shape, array.strides, array.dtype, array.on_device


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_]
)
def test_dlpack_view_equals_the_numpy_view(dtype: type) -> None:
    array = np.zeros((4, 6), dtype)[1:, ::2]
    assert fields(view(Exporter(array), "A")) == fields(view(array, "A"))


class RequiresGradient(Exporter):
    """A torch-like tensor that requires gradients: only the detached tensor can be exported."""

    requires_grad = True

    def __dlpack__(self, **arguments: Any) -> Any:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    def detach(self) -> Exporter:
        return Exporter(self.array)


def test_tensor_that_requires_gradients_is_not_copied() -> None:
    array = np.zeros((4, 6), np.float32)
    assert fields(view(RequiresGradient(array), "A")) == fields(view(array, "A"))


def test_strides_are_in_elements() -> None:
    array = np.zeros((4, 6), np.float32).T
    assert fields(view(array, "A")) == (array.ctypes.data, (6, 4), (1, 6), np.dtype(np.float32), False)


class CudaArray:
    """`__cuda_array_interface__` version 3."""

    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (4096, True),
            "shape": (2, 3),
            "typestr": "<f4",
            **fields,
        }


def test_cuda_array_interface() -> None:
    found = view(CudaArray(), "A")
    assert fields(found) == (4096, (2, 3), (3, 1), np.dtype(np.float32), True)
    assert not found.writable
    assert view(CudaArray(strides=(4, 8)), "A").strides == (1, 2)


def test_strides_within_an_element_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"'A' needs strides that are multiples of the element size, got \(12, 6\) bytes for float32"
    ):
        view(CudaArray(strides=(12, 6)), "A")


def test_field_of_records_at_strides_within_an_element_is_refused() -> None:
    fields = np.zeros(4, [("byte", "i1"), ("number", "<f4")])["number"]
    with pytest.raises(InputError, match=r"'A' needs strides that are multiples of the element size, got \(5,\) bytes"):
        view(fields, "A")


class Vectors(Exporter):
    """Elements that are vectors of four."""

    def __dlpack__(self, **arguments: Any) -> Any:
        capsule = super().__dlpack__(**arguments)
        # DLTensor of dlpack.h: the 16-bit number of lanes is at offset 22.
        address = arrays._capsule_pointer(capsule, b"dltensor")
        ctypes.c_uint16.from_address(address + 22).value = 4
        return capsule


@pytest.mark.parametrize(
    ("exporter", "found"),
    [
        (Exporter(np.zeros(2, np.complex128)), "complex128"),
        (Vectors(np.zeros(2, np.float32)), "DLPack code 2, 32 bits, 4 lanes"),
    ],
)
def test_unknown_element_type_is_refused(exporter: Exporter, found: str) -> None:
    with pytest.raises(InputError, match=f"'A' needs an element type of Tile IR, got {found}$"):
        view(exporter, "A")


def test_memory_of_another_device_is_refused() -> None:
    exporter = Exporter(np.zeros(2, np.float32))
    exporter.__dlpack_device__ = lambda: (4, 0)  # type: ignore[method-assign]
    with pytest.raises(InputError, match="'A' needs memory of the host or of a CUDA device"):
        view(exporter, "A")


@pytest.mark.parametrize(("value", "expected"), [(np.zeros(1), True), (CudaArray(), True), ([1], False), (3, False)])
def test_is_array(value: Any, expected: bool) -> None:
    assert is_array(value) is expected


def test_view_keeps_the_memory_alive() -> None:
    array = np.arange(1000, dtype=np.int64)
    seen = view(Exporter(array), "A")
    del array
    assert ctypes.c_int64.from_address(seen.address + 8 * 999).value == 999


def test_range_of_an_empty_array_is_empty() -> None:
    assert view(np.zeros((0, 4), ml_dtypes.bfloat16), "A").byte_range()[1] == 0


def test_dtype_names_an_element_type_that_the_interface_lacks() -> None:
    array = CudaArray(typestr="<V2")
    assert view(array, "A").dtype == np.dtype("V2")
    array.dtype = np.dtype(ml_dtypes.bfloat16)  # type: ignore[attr-defined]
    assert view(array, "A").dtype == ml_dtypes.bfloat16
    array.dtype = np.dtype(ml_dtypes.float8_e5m2)  # type: ignore[attr-defined]
    assert view(array, "A").dtype == np.dtype("V2")
