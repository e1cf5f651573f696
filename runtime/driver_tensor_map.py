"""Tensor maps as the installed CUDA driver encodes them for a GPU."""

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
# The least compute capability of Blackwell.
BLACKWELL_MAJOR = 10
# Driver 595.71.05, known issues: on Blackwell, maps over allocations below 128 KB that are not dense may
# fault. The remedy is to clear this bit of the second 64-bit word, here for all drivers: the fixed ones are not known.
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
    """cuTensorMapEncodeTiled, called on memory of our own: cuda-bindings would encode into memory of any alignment."""
    flags = driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
    address, _ = checked(driver.cuGetProcAddress(b"cuTensorMapEncodeTiled", _INTRODUCED_IN, flags))
    if not address:
        raise LaunchError("the CUDA driver has no cuTensorMapEncodeTiled: a driver of CUDA 12.0 or later is needed")
    return _PROTOTYPE(address)


def encode_by_driver(tensor_map: TensorMap, capability: tuple[int, int]) -> bytes:
    """The 128 bytes for a GPU of this compute capability; LaunchError with the driver's reason where it refuses."""
    element, swizzle = ELEMENTS[tensor_map.element], SWIZZLES[tensor_map.swizzle]
    encoded = AlignedBuffer(SIZE_BYTES, HOST_ALIGNMENT_BYTES)
    status = _encode_tiled()(
        encoded.address,
        element.host_enumerator,
        tensor_map.rank,
        tensor_map.base,
        _words(ctypes.c_uint64, tensor_map.extents),
        # A map of one dimension has no strides, and the driver reads none.
        _words(ctypes.c_uint64, tensor_map.strides or (0,)),
        _words(ctypes.c_uint32, tensor_map.box),
        _words(ctypes.c_uint32, tensor_map.element_strides),
        INTERLEAVES[tensor_map.interleave],
        swizzle.host_enumerator,
        L2_PROMOTIONS[tensor_map.l2_promotion],
        FILLS[tensor_map.fill],
    )
    if status != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"the driver refuses a tensor map ({driver.CUresult(status).name}): {tensor_map}")
    return without_faulty_bit(encoded.read()) if capability[0] >= BLACKWELL_MAJOR else encoded.read()


def _words(kind: type[ctypes.c_uint32] | type[ctypes.c_uint64], values: Sequence[int | None]) -> ctypes.Array:
    # Every field of a map is known when the map is encoded.
    return (kind * len(values))(*(value for value in values if value is not None))


def without_faulty_bit(encoded: bytes) -> bytes:
    """The map with the bit cleared that makes small maps fault on Blackwell."""
    first, second, *rest = struct.unpack("<16Q", encoded)
    return struct.pack("<16Q", first, second & ~_FAULTY_BIT, *rest)
