"""Im2col tensor maps, PTX that copies through them, and the pixels that a copy is expected to move."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from tensor_copies import copy_to_global, copy_to_shared, setup

KINDS = {"tiled": 0, "im2col": 1, "im2col_w": 2, "im2col_w128": 3}
MODES = {"im2col": "im2col", "im2col_w": "im2col::w", "im2col_w128": "im2col::w::128"}
# N, then D, H and W as far as the tensor has them.
Pixel = tuple[int, ...]


@dataclass(frozen=True)
class PixelMap:
    """An im2col tensor map over a contiguous tensor. Corners and strides of the traversal are in the order W, H, D."""

    kind: str
    lower: Sequence[int]
    upper: Sequence[int]
    channels: int
    pixels: int
    strides: Sequence[int] = ()
    swizzle: str = "none"
    element: str = "u16"
    interleave: int = 0

    def fields(self) -> bytes:
        """Bytes 0x40 and up, which only the simulator defines (runtime/ptxsim/tma/tensor_map/tensor_map_encoding.h)."""
        corners = [*self.lower, *[0] * (3 - len(self.lower)), *self.upper, *[0] * (3 - len(self.upper))]
        packed = struct.pack("<I6hHH", KINDS[self.kind], *corners, self.channels, self.pixels)
        return packed.ljust(64, b"\0")

    def encode(self, encode_tensor_map: Callable[..., bytes], tensor: np.ndarray) -> bytes:
        """The 128 bytes of the map of a tensor [N, spatial dimensions, C]."""
        tiled = encode_tensor_map(
            tensor.ctypes.data,
            self.element,
            extents=tensor.shape[::-1],
            strides=tensor.strides[-2::-1],
            box=[1] * tensor.ndim,
            element_strides=[1, *self.strides],
            swizzle=self.swizzle,
            interleave=self.interleave,
        )
        return tiled[:64] + self.fields()


def numbered(*shape: int) -> np.ndarray:
    """A tensor of u16 [N, spatial dimensions, C]: the number of the pixel, from 1, plus the channel times 4099."""
    pixels = 1 + np.arange(int(np.prod(shape[:-1])), dtype=np.uint32)
    return (pixels[:, None] + 4099 * np.arange(shape[-1], dtype=np.uint32)).astype(np.uint16).reshape(shape)


def rows_of(tensor: np.ndarray, pixels: Iterable[Pixel], channel: int, channels: int) -> np.ndarray:
    """The channels of these pixels, zero outside the tensor."""
    result = np.zeros((len(list(pixels)), channels), tensor.dtype)
    last = max(0, min(channels, tensor.shape[-1] - channel))
    for row, pixel in zip(result, pixels, strict=True):
        if all(0 <= at < extent for at, extent in zip(pixel, tensor.shape, strict=False)):
            row[:last] = tensor[pixel][channel : channel + last]
    return result


# The threads copy the image, 16 bytes each at a time, to p1 or from it.
_EACH_16_BYTES = """
shl.b32 %r3, %r0, 4;
next:
setp.ge.u32 %p2, %r3, {size};
@%p2 bra done;
add.u32 %r4, %r1, %r3;
cvt.u64.u32 %rd1, %r3;
add.u64 %rd2, %rd0, %rd1;
{moves}
add.u32 %r3, %r3, 2048;
bra next;
done:
"""
THREADS = 128
_TO_GLOBAL = "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r4]; st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13};"
_FROM_GLOBAL = "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2]; st.shared.v4.b32 [%r4], {%r10, %r11, %r12, %r13};"


def load_body(kind: str, coordinates: Sequence[int], information: Sequence[int], size: int) -> str:
    """Loads one image of `size` bytes and copies it to p1."""
    copy = copy_to_shared(coordinates, size, mode=MODES[kind], information=information)
    return setup(size) + copy + _EACH_16_BYTES.format(size=size, moves=_TO_GLOBAL)


def store_body(coordinates: Sequence[int], size: int, reduction: str = "", mode: str = "im2col_no_offs") -> str:
    """Copies p1 to shared memory and stores the image of `size` bytes, or reduces the tensor by it."""
    fill = _EACH_16_BYTES.format(size=size, moves=_FROM_GLOBAL)
    return setup(size) + fill + copy_to_global(coordinates, mode=mode, operation=reduction or None)


def spans(*parts: tuple[tuple[int, ...], Iterable[int]]) -> list[Pixel]:
    """The pixels of runs along W, each given as the coordinates (N, D, H) of its row and its W coordinates."""
    return [(*outer, w) for outer, columns in parts for w in columns]


def inclusive(first: int, last: int, step: int = 1) -> range:
    """The W coordinates first to last."""
    return range(first, last + 1, step)
