"""Memory of arrays of any library: numpy arrays, DLPack exporters (torch, jax, cupy), `__cuda_array_interface__`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilec.element_types import dtype_named
from tilec.errors import ArgumentTypeError, ArgumentValueError, InputError
from tilec.frozen import Frozen


class ArrayView(Frozen):
    """The memory of an array, on the host or on a device; strides count elements, `owner` keeps the memory alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    writable: bool
    on_device: bool
    owner: object

    def byte_range(self) -> tuple[int, int]:
        """The address and size in bytes of the smallest range of all elements; strides must not be negative."""
        if 0 in self.shape:
            return self.address, 0
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return self.address, (last + 1) * self.dtype.itemsize


def is_array(value: object) -> bool:
    """Whether `view` accepts the value."""
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def is_on_device(array: Any) -> bool:
    """Whether an array, which `view` may not accept, is in the memory of a CUDA device."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__dlpack__"):
        try:
            return array.__dlpack_device__()[0] in _CUDA_DEVICES
        except _EXPORT_ERRORS:
            # `view` raises the error, with the name of the argument.
            return False
    return hasattr(array, "__cuda_array_interface__")


def view(array: Any, name: str) -> ArrayView:
    """The memory of an array, without a copy; raises InputError, naming the argument `name`, for other values."""
    if isinstance(array, np.ndarray):
        return _from_numpy(array, name)
    if hasattr(array, "__dlpack__"):
        # torch refuses to export a tensor that requires gradients; the detached tensor shares its memory.
        return _from_dlpack(array.detach() if getattr(array, "requires_grad", False) else array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda_array_interface(array, name)
    found = type(array).__name__
    expected = "an array (numpy, DLPack or __cuda_array_interface__)"
    raise ArgumentTypeError(f"argument '{name}' needs {expected}, got {found}")


def address_of(array: np.ndarray) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


def _from_numpy(array: np.ndarray, name: str) -> ArrayView:
    if any(stride % array.itemsize for stride in array.strides):
        raise _strides_error(name, array.strides, array.dtype)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return ArrayView(address_of(array), array.shape, strides, array.dtype, array.flags.writeable, False, array)


def _strides_error(name: str, byte_strides: tuple[int, ...], dtype: np.dtype) -> InputError:
    return InputError(
        f"argument '{name}' needs strides that are multiples of the element size, got {byte_strides} bytes for {dtype}"
    )


def negative_strides_error(name: str, strides: Sequence[int]) -> ArgumentValueError:
    """The error for an array that is reversed along an axis, which tensor views of Tile IR cannot describe."""
    copy = "pass a copy with positive strides, as of np.ascontiguousarray"
    return ArgumentValueError(f"argument '{name}' needs strides that are not negative, got {tuple(strides)}: {copy}")


def _from_cuda_array_interface(array: Any, name: str) -> ArrayView:
    interface = array.__cuda_array_interface__
    dtype, shape = _interface_dtype(array, np.dtype(interface["typestr"])), tuple(interface["shape"])
    byte_strides = interface.get("strides")
    if byte_strides and any(stride % dtype.itemsize for stride in byte_strides):
        raise _strides_error(name, tuple(byte_strides), dtype)
    strides = tuple(stride // dtype.itemsize for stride in byte_strides) if byte_strides else row_major(shape)
    address, read_only = interface["data"]
    return ArrayView(address or 0, shape, strides, dtype, not read_only, True, array)


def _interface_dtype(array: Any, dtype: np.dtype) -> np.dtype:
    """The element type: the interface describes types of ml_dtypes as raw bytes; `dtype` of the array names them."""
    named: Any = getattr(array, "dtype", None)
    is_named = dtype.kind == "V" and isinstance(named, np.dtype) and named.itemsize == dtype.itemsize
    return named if is_named else dtype


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a row-major array, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h 1.0, the first field of an unversioned DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# DLDeviceType: host memory (kDLCPU, kDLCUDAHost) and device memory (kDLCUDA, kDLCUDAManaged).
_HOST_DEVICES = {1, 3}
_CUDA_DEVICES = {2, 13}
# DLDataTypeCode: kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLComplex 5, kDLBool 6, and the float8 kinds of DLPack
# 1.1.
_DLPACK_DTYPES: dict[tuple[int, int], str] = {
    **{(0, bits): f"numpy.int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"numpy.uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"numpy.float{bits}" for bits in (16, 32, 64)},
    (4, 16): "ml_dtypes.bfloat16",
    (6, 8): "numpy.bool_",
    (10, 8): "ml_dtypes.float8_e4m3fn",
    (12, 8): "ml_dtypes.float8_e5m2",
    (14, 8): "ml_dtypes.float8_e8m0fnu",
}

# The errors of exporters, such as torch for a sparse tensor, or for one without memory.
_EXPORT_ERRORS = (BufferError, RuntimeError, TypeError, ValueError)

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _from_dlpack(array: Any, name: str) -> ArrayView:
    try:
        device = array.__dlpack_device__()[0]
        on_device = device in _CUDA_DEVICES
        if not on_device and device not in _HOST_DEVICES:
            raise InputError(f"argument '{name}' needs memory of the host or of a CUDA device")
        # Array API standard, __dlpack__: stream -1 means no synchronisation: the kernel runs in the caller's stream.
        capsule = array.__dlpack__(stream=-1) if on_device else array.__dlpack__()
    except _EXPORT_ERRORS as error:
        raise InputError(f"argument '{name}' cannot be exported by DLPack: {error}") from None
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    dtype_name = _DLPACK_DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype_name is None:
        is_complex = tensor.code == 5 and tensor.lanes == 1
        of_dlpack = f"DLPack code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        found = f"complex{tensor.bits}" if is_complex else of_dlpack
        raise InputError(f"argument '{name}' needs an element type of Tile IR, got {found}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else row_major(shape)
    address, dtype = (tensor.data or 0) + tensor.byte_offset, dtype_named(dtype_name)
    return ArrayView(address, shape, strides, dtype, True, on_device, (array, capsule))
