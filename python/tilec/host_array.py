"""Arrays of other libraries as seen by a kernel: address, element type, extents, strides, and where they live.

numpy arrays (with the types of ml_dtypes), torch tensors, objects with `__cuda_array_interface__`, and anything else
that speaks DLPack.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilec.datatypes import DType, by_name, from_numpy
from tilec.errors import InputError

_DLPACK_HOST = {1, 3}  # kDLCPU, kDLCUDAHost
_DLPACK_DEVICE = {2, 13}  # kDLCUDA, kDLCUDAManaged
_DLPACK_NAMES = {0: "int{}", 1: "uint{}", 2: "float{}", 4: "bfloat{}", 6: "bool"}


@dataclass(frozen=True)
class HostArray:
    """A view of the array's memory; `owner` keeps it alive. Strides are in elements, `device` is "host" or "cuda"."""

    address: int
    element: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    writable: bool
    owner: Any

    @property
    def span_bytes(self) -> tuple[int, int]:
        """First byte and one past the last byte that the array can touch."""
        if 0 in self.shape:
            return self.address, self.address
        steps = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        size_bytes = self.element.bitwidth // 8
        low = sum(step for step in steps if step < 0) * size_bytes
        high = (sum(step for step in steps if step > 0) + 1) * size_bytes
        return self.address + low, self.address + high


def is_array(value: Any) -> bool:
    """Whether `view` would take the value for an array."""
    return any(hasattr(value, name) for name in ("__array_interface__", "__cuda_array_interface__", "__dlpack__"))


def view(value: Any) -> HostArray:
    """What a kernel sees of an array; raises InputError for element types and layouts that kernels cannot take."""
    if isinstance(value, np.ndarray):
        return _from_numpy(value)
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "data_ptr"):
        return _from_torch(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _from_cuda_array_interface(value)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value)
    if hasattr(value, "__array_interface__"):
        return _from_numpy(np.asarray(value))
    raise InputError(f"expected an array (numpy, torch, DLPack or CUDA array interface), got {type(value).__name__}")


def _from_numpy(array: np.ndarray) -> HostArray:
    element = from_numpy(array.dtype)
    if element is None or not array.dtype.isnative:
        raise InputError(f"arrays of numpy type {array.dtype} cannot be passed to a kernel")
    strides = _in_elements(array.strides, array.itemsize)
    return HostArray(array.ctypes.data, element, array.shape, strides, "host", array.flags.writeable, array)


def _from_torch(tensor: Any) -> HostArray:
    element = by_name(str(tensor.dtype).removeprefix("torch."))
    if element is None:
        raise InputError(f"tensors of type {tensor.dtype} cannot be passed to a kernel")
    if tensor.device.type not in ("cpu", "cuda"):
        raise InputError(f"expected a tensor on cpu or cuda, got one on {tensor.device}")
    device = "host" if tensor.device.type == "cpu" else "cuda"
    return HostArray(tensor.data_ptr(), element, tuple(tensor.shape), tuple(tensor.stride()), device, True, tensor)


def _from_cuda_array_interface(value: Any) -> HostArray:
    interface = value.__cuda_array_interface__
    dtype = np.dtype(interface["typestr"])
    element = from_numpy(dtype)
    if element is None:
        raise InputError(f"arrays of type {interface['typestr']!r} cannot be passed to a kernel")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    in_elements = _row_major(shape) if strides is None else _in_elements(tuple(strides), dtype.itemsize)
    address, read_only = interface["data"]
    return HostArray(address, element, shape, in_elements, "cuda", not read_only, value)


class _DLTensor(ctypes.Structure):
    # dlpack.h: struct DLTensor
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


def _from_dlpack(value: Any) -> HostArray:
    capsule = value.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    name = _DLPACK_NAMES.get(tensor.code, "").format(tensor.bits)
    element = by_name(name) if tensor.lanes == 1 else None
    if element is None:
        raise InputError(f"DLPack arrays of type code {tensor.code}, {tensor.bits} bits cannot be passed to a kernel")
    if tensor.device_type not in _DLPACK_HOST | _DLPACK_DEVICE:
        raise InputError(f"expected a DLPack array on the host or a CUDA device, got device type {tensor.device_type}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _row_major(shape)
    device = "host" if tensor.device_type in _DLPACK_HOST else "cuda"
    address = (tensor.data or 0) + tensor.byte_offset
    # The capsule owns the memory: DLPack lets the producer free it with the capsule.
    return HostArray(address, element, shape, strides, device, True, (value, capsule))


def _in_elements(strides_bytes: tuple[int, ...], size_bytes: int) -> tuple[int, ...]:
    for stride in strides_bytes:
        if stride % size_bytes:
            raise InputError(f"a stride of {stride} bytes is no multiple of the element size, {size_bytes} bytes")
    return tuple(stride // size_bytes for stride in strides_bytes)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
