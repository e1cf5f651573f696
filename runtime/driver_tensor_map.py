"""Encoding of tensor maps by the CUDA driver."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache

from tilec.errors import LaunchError
from tilec.frozen import Frozen
from tilec.lowering.tma.element_types import ELEMENTS
from tilec.lowering.tma.enumerations import FILLS, INTERLEAVES, KINDS, L2_PROMOTIONS, SWIZZLES
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime import cuda_driver as driver
from tilec.runtime.aligned_buffer import AlignedBuffer
from tilec.runtime.tensor_map import SIZE_BYTES

# cuda.h of CUDA 13 aligns CUtensorMap to 128 bytes (64 before).
HOST_ALIGNMENT_BYTES = 128
# The lowest major compute capability of Blackwell.
BLACKWELL_MAJOR = 10
# Driver 595.71.05, known issues: on Blackwell, maps over allocations below 128 KB that are not dense may
# fault. The workaround clears this bit of the second 64-bit word, for all drivers: the fixed versions are unknown.
_FAULTY_BIT = 1 << 21

_INT, _U32, _POINTER = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p
# The parameters before and after those of the kind: map, type, rank, address, extents, strides; swizzle, L2 promotion,
# fill.
_FIRST, _LAST = (_POINTER, _INT, _U32, _POINTER, _POINTER, _POINTER), (_INT, _INT, _INT)


class _Function(Frozen):
    """A function of the driver: the CUDA version that introduced it, and the types of the parameters of its kind."""

    introduced_in: int
    parameters: tuple[type, ...]


# cudaTypedefs.h: PFN_cuTensorMapEncodeTiled_v12000, PFN_cuTensorMapEncodeIm2col_v12000,
# PFN_cuTensorMapEncodeIm2colWide_v12080.
_FUNCTIONS = {
    # box, element strides, interleave
    "cuTensorMapEncodeTiled": _Function(12000, (_POINTER, _POINTER, _INT)),
    # lower and upper corner, channels, pixels, element strides, interleave
    "cuTensorMapEncodeIm2col": _Function(12000, (_POINTER, _POINTER, _U32, _U32, _POINTER, _INT)),
    # the same with corners by value, mode
    "cuTensorMapEncodeIm2colWide": _Function(12080, (_INT, _INT, _U32, _U32, _POINTER, _INT, _INT)),
}


@cache
def _function(name: str) -> Callable[..., int]:
    """A function that encodes maps."""
    found = _FUNCTIONS[name]
    address = driver.address_of(name, found.introduced_in)
    if not address:
        version = f"{found.introduced_in // 1000}.{found.introduced_in % 1000 // 10}"
        raise LaunchError(f"the CUDA driver has no {name}: install a driver of CUDA {version} or later")
    return ctypes.CFUNCTYPE(_INT, *_FIRST, *found.parameters, *_LAST)(address)


def encode_by_driver(tensor_map: TensorMap, capability: tuple[int, int]) -> bytes:
    """The 128 bytes for a GPU of this compute capability; raises LaunchError with the driver's status if it refuses."""
    encoded = AlignedBuffer(SIZE_BYTES, HOST_ALIGNMENT_BYTES)
    status = _function(KINDS[tensor_map.kind].function)(
        encoded.address,
        ELEMENTS[tensor_map.element].host_enumerator,
        tensor_map.rank,
        tensor_map.base,
        _c_array(ctypes.c_uint64, tensor_map.extents),
        # A map of one dimension has no strides, and the driver reads none.
        _c_array(ctypes.c_uint64, tensor_map.strides or (0,)),
        *_arguments_of_kind(tensor_map),
        SWIZZLES[tensor_map.swizzle].host_enumerator,
        L2_PROMOTIONS[tensor_map.l2_promotion],
        FILLS[tensor_map.fill],
    )
    if status != driver.SUCCESS:
        raise LaunchError(f"the driver refuses a tensor map ({driver.error_name(status)}): {tensor_map}")
    return without_faulty_bit(encoded.read()) if capability[0] >= BLACKWELL_MAJOR else encoded.read()


def _arguments_of_kind(tensor_map: TensorMap) -> tuple[object, ...]:
    """The arguments between the strides and the swizzle."""
    element_strides = _c_array(ctypes.c_uint32, tensor_map.element_strides)
    interleave = INTERLEAVES[tensor_map.interleave]
    if not tensor_map.is_im2col:
        return _c_array(ctypes.c_uint32, tensor_map.box), element_strides, interleave
    counts = tensor_map.channels_per_pixel, tensor_map.pixels_per_column
    mode = KINDS[tensor_map.kind].mode
    if mode is None:
        # The order is W, H, D: see CORNERS in tilec.lowering.tma.im2col_rules.
        corners = _c_array(ctypes.c_int, tensor_map.lower), _c_array(ctypes.c_int, tensor_map.upper)
        return *corners, *counts, element_strides, interleave
    return *tensor_map.lower, *tensor_map.upper, *counts, element_strides, interleave, mode


def _c_array(kind: type[ctypes._SimpleCData[int]], values: Sequence[int | None]) -> ctypes.Array:
    # No field of an encoded map is None.
    return (kind * len(values))(*(value for value in values if value is not None))


def without_faulty_bit(encoded: bytes) -> bytes:
    """The encoded map without the bit that makes small maps fault on Blackwell."""
    first, second, *rest = struct.unpack("<16Q", encoded)
    return struct.pack("<16Q", first, second & ~_FAULTY_BIT, *rest)
