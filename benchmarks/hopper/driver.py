"""The CUDA driver for scripts that run without tilec: calls whose status is checked, and tensor maps of matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

MAP_BYTES = 128
_MAP_ALIGNMENT = 128
# The values of cuda.h for no interleaving, and for zeros beyond an extent.
_NO_INTERLEAVE, _FILL_ZERO = 0, 0


def checked(result: tuple[Any, ...]) -> Any:
    """The outputs of a call of cuda-bindings; raises RuntimeError with its status."""
    status, *outputs = result
    if int(status) != 0:
        raise RuntimeError(f"the CUDA driver says {status!r}")
    return outputs[0] if len(outputs) == 1 else outputs


def encoded_map(
    address: int,
    element: int,
    extents: tuple[int, int],
    stride_bytes: int,
    box: tuple[int, int],
    swizzle: int,
    promotion: int = 0,
) -> bytes:
    """A tensor map of rows and its box, columns first; element, swizzle and promotion are the numbers of cuda.h."""
    storage = ctypes.create_string_buffer(MAP_BYTES + _MAP_ALIGNMENT)
    start = -ctypes.addressof(storage) % _MAP_ALIGNMENT
    status = _encode_tiled()(
        ctypes.addressof(storage) + start,
        element,
        2,
        address,
        (ctypes.c_uint64 * 2)(*extents),
        (ctypes.c_uint64 * 1)(stride_bytes),
        (ctypes.c_uint32 * 2)(*box),
        (ctypes.c_uint32 * 2)(1, 1),
        _NO_INTERLEAVE,
        swizzle,
        promotion,
        _FILL_ZERO,
    )
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled returns {status}")
    return storage.raw[start : start + MAP_BYTES]


@cache
def _encode_tiled() -> Callable[..., int]:
    """cuTensorMapEncodeTiled, whose map must be aligned, which the objects of cuda-bindings are not."""
    from cuda.bindings import driver

    address, _ = checked(driver.cuGetProcAddress(b"cuTensorMapEncodeTiled", 12000, 0))
    integer, number, pointer = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p
    parameters = pointer, integer, number, *[pointer] * 5, *[integer] * 4
    return ctypes.CFUNCTYPE(integer, *parameters)(address)
