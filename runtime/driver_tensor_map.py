"""Encoding of tensor maps by the CUDA driver."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache

from cuda.bindings import driver

from tilec.errors import LaunchError
from tilec.lowering.tma.contract import ELEMENTS, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES, TensorMap
from tilec.runtime.aligned_buffer import AlignedBuffer
from tilec.runtime.devices import checked
from tilec.runtime.tensor_map import SIZE_BYTES

# cuda.h of CUDA 13 aligns CUtensorMap to 128 bytes (64 before); cuda-bindings' own objects have no alignment.
HOST_ALIGNMENT_BYTES = 128
# The CUDA version that introduced cuTensorMapEncodeTiled.
_INTRODUCED_IN = 12000
# The lowest major compute capability of Blackwell.
BLACKWELL_MAJOR = 10
# Driver 595.71.05, known issues: on Blackwell, maps over allocations below 128 KB that are not dense may
# fault. The workaround clears this bit of the second 64-bit word, for all drivers: the fixed versions are unknown.
_FAULTY_BIT = 1 << 21

_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_uint32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
)


@cache
def _encode_tiled() -> Callable[..., int]:
    """cuTensorMapEncodeTiled, called directly: cuda-bindings encodes into memory without the required alignment."""
    flags = driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
    address, _ = checked(driver.cuGetProcAddress(b"cuTensorMapEncodeTiled", _INTRODUCED_IN, flags))
    if not address:
        raise LaunchError("the CUDA driver has no cuTensorMapEncodeTiled: install a driver of CUDA 12.0 or later")
    return _PROTOTYPE(address)


def encode_by_driver(tensor_map: TensorMap, capability: tuple[int, int]) -> bytes:
    """The 128 bytes for a GPU of this compute capability; raises LaunchError with the driver's status if it refuses."""
    element, swizzle = ELEMENTS[tensor_map.element], SWIZZLES[tensor_map.swizzle]
    encoded = AlignedBuffer(SIZE_BYTES, HOST_ALIGNMENT_BYTES)
    status = _encode_tiled()(
        encoded.address,
        element.host_enumerator,
        tensor_map.rank,
        tensor_map.base,
        _c_array(ctypes.c_uint64, tensor_map.extents),
        # A map of one dimension has no strides, and the driver reads none.
        _c_array(ctypes.c_uint64, tensor_map.strides or (0,)),
        _c_array(ctypes.c_uint32, tensor_map.box),
        _c_array(ctypes.c_uint32, tensor_map.element_strides),
        INTERLEAVES[tensor_map.interleave],
        swizzle.host_enumerator,
        L2_PROMOTIONS[tensor_map.l2_promotion],
        FILLS[tensor_map.fill],
    )
    if status != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"the driver refuses a tensor map ({driver.CUresult(status).name}): {tensor_map}")
    return without_faulty_bit(encoded.read()) if capability[0] >= BLACKWELL_MAJOR else encoded.read()


def _c_array(kind: type[ctypes.c_uint32] | type[ctypes.c_uint64], values: Sequence[int | None]) -> ctypes.Array:
    # No field of an encoded map is None.
    return (kind * len(values))(*(value for value in values if value is not None))


def without_faulty_bit(encoded: bytes) -> bytes:
    """The encoded map without the bit that makes small maps fault on Blackwell."""
    first, second, *rest = struct.unpack("<16Q", encoded)
    return struct.pack("<16Q", first, second & ~_FAULTY_BIT, *rest)
