"""Kernels of tile_gpu that load and store pixels by im2col, and the same pixels in numpy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilec.lowering.layout.blocked import blocked
from tilec.signature import parse


@dataclass(frozen=True)
class Window:
    """A window over images; spatial dimensions are outermost first, `lower` and `upper` are paddings.

    Attributes:
        images: the number of images, and the extents of their spatial dimensions.
        channels: the number of channels.
    """

    images: int
    extents: tuple[int, ...]
    taps: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    channels: int = 64

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of positions of the window along each spatial dimension."""
        spans = [(count - 1) * step + 1 for count, step in zip(self.taps, self.dilation, strict=True)]
        padded = [e + lo + up for e, lo, up in zip(self.extents, self.lower, self.upper, strict=True)]
        return tuple((p - s) // u + 1 for p, s, u in zip(padded, spans, self.stride, strict=True))

    @property
    def upper_corners(self) -> list[int]:
        return [up - (n - 1) * d for up, n, d in zip(self.upper, self.taps, self.dilation, strict=True)]

    def array(self, dtype: object = np.float16) -> np.ndarray:
        """Images of different numbers from 1 on, as far as the type has them."""
        shape = (self.images, *self.extents, self.channels)
        return (np.arange(np.prod(shape)) % 2039 + 1).reshape(shape).astype(dtype)

    def taps_of(self, images: np.ndarray) -> np.ndarray:
        """[tap, pixel, channel]: what each tap of the window reads at each of its positions."""
        count = self.images * int(np.prod(self.outputs))
        n, *position = np.unravel_index(np.arange(count), (self.images, *self.outputs))
        read = []
        for tap in np.ndindex(*self.taps):
            axes = zip(position, self.stride, tap, self.dilation, self.lower, strict=True)
            read.append(pixels(images, n, [p * u + o * d - lo for p, u, o, d, lo in axes]))
        return np.stack(read)


def pixels(images: np.ndarray, n: np.ndarray, at: Sequence[np.ndarray]) -> np.ndarray:
    """The pixels of images `n` at spatial coordinates, zero outside."""
    extents = images.shape[:-1]
    index = np.broadcast_arrays(n, *at)
    inside = np.logical_and.reduce([(i >= 0) & (i < extent) for i, extent in zip(index, extents, strict=True)])
    clipped = tuple(np.clip(i, 0, extent - 1) for i, extent in zip(index, extents, strict=True))
    return np.where(inside[:, None], images[clipped], 0).astype(images.dtype)


def kernel(body: str, rank: int, target: str, aliases: str = "", element: str = "f16") -> str:
    """A kernel of images X and a matrix Y. In the body %c_3 and %c_m3 are constants.

    %x_extent0 .. and %x_stride0 .. are those of X, %y_extent0 .. those of Y.
    """
    names = []
    for array, dimensions in (("x", rank), ("y", 2)):
        names += [f"%{array}: i64"]
        names += [f"%{array}_{kind}{k}: i32" for kind in ("extent", "stride") for k in range(dimensions)]
    dots = ",".join("?" * rank)
    signature = parse(f"X: {element}[{dots}], Y: {element}[?,?]").to_json().replace('"', '\\"')
    numbers = sorted(set(re.findall(r"%c_(m?)(\d+)\b", body)))
    constants = "\n".join(
        f"%c_{sign}{digits} = arith.constant {'-' if sign else ''}{digits} : i32" for sign, digits in numbers
    )
    return (
        f'{aliases}\ntile_gpu.kernel @k({", ".join(names)}) target "{target}" warps 4 '
        f'attributes {{tilec.signature = "{signature}"}} {{\n{constants}\n{body}\n}}'
    )


def constant(number: int) -> str:
    return f"%c_{'m' if number < 0 else ''}{abs(number)}"


def make_map(
    kind: str, lower: Sequence[int], upper: Sequence[int], steps: Sequence[int], box: str, element: str = "f16"
) -> str:
    """%map over all dimensions of X; corners and steps are those of the spatial dimensions, outermost first."""
    rank = len(steps) + 2
    extents = ", ".join(f"%x_extent{k}" for k in reversed(range(rank)))
    strides = ", ".join(f"%x_stride{k}" for k in reversed(range(rank - 1)))
    inner_first = [", ".join(map(str, reversed(list(values)))) for values in (lower, upper)]
    walked = ", ".join(map(str, [1, *reversed(list(steps)), 1]))
    return (
        f'%map = tile_gpu.make_tensor_map "{element}" %x[{extents}] strides [{strides}] kind {kind} '
        f"lower [{inner_first[0]}] upper [{inner_first[1]}] element_strides [{walked}] box [{box}] "
        f"swizzle 128B fill zero"
    )


def decoded(number: str, extents: Sequence[int], names: Sequence[str]) -> str:
    """`names[0] .. names[-1]` are the digits of a number in row-major order; the first has no limit."""
    lines, rest = [], number
    for name, extent in reversed(list(zip(names[1:], extents, strict=True))):
        lines.append(f"{name} = arith.remui {rest}, {constant(extent)} : i32")
        lines.append(f"{name}_above = arith.divui {rest}, {constant(extent)} : i32")
        rest = f"{name}_above"
    zero = constant(0)
    return "\n".join([*lines, f"{names[0]} = arith.addi {rest}, {zero} : i32"])


def taps_kernel(window: Window, target: str, *, rows: int = 64, columns: int = 64, element: str = "f16") -> str:
    """Block (i, j) copies tile (i, j) of the pixels and channels of each tap to the rows of that tap in Y.

    One loop over the taps fills slots by im2col, reads them and stores them.
    """
    rank, spatial = len(window.extents) + 2, range(len(window.extents))
    box = f"{128 // np.dtype(ELEMENTS[element]).itemsize}, {rows}"
    aliases = (
        f'!tile = tensor<{rows}x{columns}x{element}, "{blocked((rows, columns), 4)}">\n'
        f"!slot = buffer<{rows}x{columns}x{element}, shared, contiguous=1 swizzle=128B>\n!ring = channel<[!slot]>"
    )
    lower = [-padding for padding in window.lower]
    made = make_map("im2col", lower, window.upper_corners, window.stride, box, element)
    starts = "\n".join(
        f"%step{k} = arith.muli %p{k}, {constant(window.stride[k])} : i32\n"
        f"%start{k} = arith.addi %step{k}, {constant(lower[k])} : i32"
        for k in spatial
    )
    offsets = "\n".join(
        f"%distance{k} = arith.muli %o{k}, {constant(window.dilation[k])} : i32\n"
        f"%offset{k} = arith.trunci %distance{k} : i32 to i16"
        for k in spatial
    )
    inner = list(reversed(spatial))
    coordinates = ", ".join(["%channel", *(f"%start{k}" for k in inner), "%n"])
    body = f"""
  {made}
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : !ring
  %i = tile_gpu.program_id 0
  %j = tile_gpu.program_id 1
  %pixel = arith.muli %i, {constant(rows)} : i32
  %channel = arith.muli %j, {constant(columns)} : i32
  {decoded("%pixel", window.outputs, ["%n", *(f"%p{k}" for k in spatial)])}
  {starts}
  scf.for %tap = %c_0 to {constant(int(np.prod(window.taps)))} step %c_1 : i32 {{
    {decoded("%tap", window.taps[1:], [f"%o{k}" for k in spatial])}
    {offsets}
    %slot = tile_gpu.put_begin %ring : !ring
    tile_gpu.tma_load %map[{coordinates}] offsets [{", ".join(f"%offset{k}" for k in inner)}] -> %slot of %ring : !slot
    tile_gpu.put_commit %ring : !ring
    %held = tile_gpu.get %ring consumer 0 : !ring
    %read = tile_gpu.load_shared %held : !slot -> !tile
    tile_gpu.release %ring consumer 0 : !ring
    %first = arith.muli %tap, {constant(padded_rows(window, rows))} : i32
    %row = arith.addi %first, %pixel : i32
    tile_gpu.store_view %read -> %y[%row, %channel] extents [%y_extent0, %y_extent1] strides [%y_stride0, %c_1]
      vector 1 : !tile
  }}"""
    return kernel(body, rank, target, aliases, element)


ELEMENTS = {"f16": np.float16, "f32": np.float32, "i8": np.int8}


def padded_rows(window: Window, rows: int) -> int:
    """The pixels of all outputs, as whole tiles."""
    return -(-window.images * int(np.prod(window.outputs)) // rows) * rows


def row_order(kind: str, rows: int, halo: int) -> np.ndarray:
    """The pixels of a copy along W in the order of the rows of its buffer, counted from the first pixel.

    PTX ISA 5.5.5.3 has no order in text for the halos of im2col_w128; this is the one of the simulator.
    """
    if kind == "im2col_w":
        return np.arange(rows + halo)
    halos = [[32 * group + pixel for group in range(1, 5)] for pixel in range(halo)]
    return np.array([*range(rows), *np.ravel(halos)], int)


def rows_of(window: Window, images: np.ndarray, order: np.ndarray, rows: int) -> np.ndarray:
    """[tap, line, tile, row, channel]: the lines of all images that `rows_kernel` copies."""
    lines = [np.array(line) for line in np.ndindex(*window.outputs[:-1])]
    width = window.outputs[-1]
    starts = range(0, window.images * width, rows)
    read = []
    for *outer, tap in np.ndindex(*window.taps):
        for line in lines:
            at = line * window.stride[:-1] + np.multiply(outer, window.dilation[:-1]) - window.lower[:-1]
            for start in starts:
                n, q = np.divmod(start + order, width)
                w = q * window.stride[-1] + tap * window.dilation[-1] - window.lower[-1]
                read.append(pixels(images, n, [*at.astype(int), w]))
    shape = (int(np.prod(window.taps)), len(lines), len(starts), len(order), images.shape[-1])
    return np.reshape(read, shape)


def rows_kernel(window: Window, target: str, kind: str, *, rows: int = 64, halo: int = 0) -> str:
    """Block (i, j) copies tile i of line j of the images, for each tap of the window, with a halo."""
    rank, outer = len(window.extents) + 2, range(len(window.extents) - 1)
    stored = len(row_order(kind, rows, halo))
    tiles = -(-window.images * window.outputs[-1] // rows)
    lines = int(np.prod(window.outputs[:-1]))
    aliases = f"!slot = buffer<{stored}x64xf16, shared, contiguous=1 swizzle=128B>\n!ring = channel<[!slot]>"
    steps = [1] * len(outer) + [window.stride[-1]]
    made = make_map(kind, [-window.lower[-1]], window.upper_corners[-1:], steps, f"64, {rows}")
    heights = "\n".join(
        f"%step{k} = arith.muli %p{k}, {constant(window.stride[k])} : i32\n"
        f"%distance{k} = arith.muli %o{k}, {constant(window.dilation[k])} : i32\n"
        f"%at{k} = arith.addi %step{k}, %distance{k} : i32\n"
        f"%height{k} = arith.subi %at{k}, {constant(window.lower[k])} : i32"
        for k in outer
    )
    coordinates = ", ".join(["%c_0", "%width", *(f"%height{k}" for k in reversed(outer)), "%n"])
    body = f"""
  {made}
  %out = tile_gpu.make_tensor_map "f16" %y[%y_extent1, %y_extent0] strides [%y_stride0] box [64, {stored}]
    swizzle 128B fill zero
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : !ring
  %i = tile_gpu.program_id 0
  %j = tile_gpu.program_id 1
  %pixel = arith.muli %i, {constant(rows)} : i32
  {decoded("%pixel", window.outputs[-1:], ["%n", "%q"])}
  {decoded("%j", window.outputs[1:-1], [f"%p{k}" for k in outer]) if outer else ""}
  %moved = arith.muli %q, {constant(window.stride[-1])} : i32
  %width = arith.subi %moved, {constant(window.lower[-1])} : i32
  scf.for %tap = %c_0 to {constant(int(np.prod(window.taps)))} step %c_1 : i32 {{
    {decoded("%tap", window.taps[1:], [*(f"%o{k}" for k in outer), "%s"])}
    {heights}
    %distance = arith.muli %s, {constant(window.dilation[-1])} : i32
    %offset = arith.trunci %distance : i32 to i16
    %slot = tile_gpu.put_begin %ring : !ring
    tile_gpu.tma_load %map[{coordinates}] offsets [%offset] halo {halo} -> %slot of %ring : !slot
    tile_gpu.put_commit %ring : !ring
    %held = tile_gpu.get %ring consumer 0 : !ring
    %lines = arith.muli %tap, {constant(lines)} : i32
    %line = arith.addi %lines, %j : i32
    %tiles = arith.muli %line, {constant(tiles)} : i32
    %copy = arith.addi %tiles, %i : i32
    %row = arith.muli %copy, {constant(stored)} : i32
    tile_gpu.tma_store %held -> %out[%c_0, %row] : !slot
    tile_gpu.store_wait read
    tile_gpu.release %ring consumer 0 : !ring
  }}
  tile_gpu.store_wait"""
    return kernel(body, rank, target, aliases)


def store_kernel(window: Window, target: str, *, rows: int = 64, reduction: str = "") -> str:
    """Block i stores tile i of the rows of Y to the pixels of X at which a window of one tap stands."""
    rank, spatial = len(window.extents) + 2, range(len(window.extents))
    aliases = (
        f'!tile = tensor<{rows}x64xf16, "{blocked((rows, 64), 4)}">\n'
        f"!slot = buffer<{rows}x64xf16, shared, contiguous=1 swizzle=128B>"
    )
    lower = [-padding for padding in window.lower]
    made = make_map("im2col", lower, window.upper_corners, window.stride, f"64, {rows}")
    starts = "\n".join(
        f"%step{k} = arith.muli %p{k}, {constant(window.stride[k])} : i32\n"
        f"%start{k} = arith.addi %step{k}, {constant(lower[k])} : i32"
        for k in spatial
    )
    coordinates = ", ".join(["%c_0", *(f"%start{k}" for k in reversed(spatial)), "%n"])
    body = f"""
  {made}
  %staging = tile_gpu.shared : !slot
  %i = tile_gpu.program_id 0
  %pixel = arith.muli %i, {constant(rows)} : i32
  {decoded("%pixel", window.outputs, ["%n", *(f"%p{k}" for k in spatial)])}
  {starts}
  %read = tile_gpu.load_view %y[%pixel, %c_0] extents [%y_extent0, %y_extent1] strides [%y_stride0, %c_1]
    vector 1 : !tile
  tile_gpu.store_shared %read, %staging : !tile -> !slot
  tile_gpu.fence_async
  tile_gpu.barrier
  tile_gpu.tma_store %staging -> %map[{coordinates}]{reduction} : !slot
  tile_gpu.store_wait"""
    return kernel(body, rank, target, aliases)
