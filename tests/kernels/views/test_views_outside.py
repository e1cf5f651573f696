"""A tile outside the index space of a view is padding when loaded and is not stored, alike for every kind of view.

The oracle lists the element of the array, if any, under each element of a tile; its indices are unsigned and do not
wrap. Arrays of images repeat or overlap images too, because rows of a gather are then inside the array.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import tilec as ct

ROWS, COLUMNS = 16, 8
FAR = (2**26, 2**27, 2**28, 2**29, 2**31 - 1, -(2**31), -2, -1)
DTYPES = [np.float32, np.float16, np.int8]
ELEMENTS = {np.float32: "f32", np.float16: "f16", np.int8: "i8"}
Position = tuple[int, ...] | None


@ct.kernel
def load_tile(x, y, i, j, padding: ct.Constant, steps: ct.Constant):
    view = x.tiled_view((ROWS, COLUMNS), padding_mode=padding, traversal_steps=steps)
    ct.store(y, (0, 0), view.load((i, j)))


@ct.kernel
def store_tile(x, y, i, j, padding: ct.Constant, steps: ct.Constant):
    y.tiled_view((ROWS, COLUMNS), traversal_steps=steps).store((i, j), ct.load(x, (0, 0), (ROWS, COLUMNS)))


@ct.kernel
def load_rows(x, y, i, j, padding: ct.Constant, steps: ct.Constant):
    rows = i * ROWS + ct.arange(ROWS, dtype=ct.int64)[:, None]
    columns = j * COLUMNS + ct.arange(COLUMNS, dtype=ct.int64)[None, :]
    ct.store(y, (0, 0), ct.gather(x, (rows, columns), padding_value=padding))


@ct.kernel
def store_rows(x, y, i, j, padding: ct.Constant, steps: ct.Constant):
    rows = i * ROWS + ct.arange(ROWS, dtype=ct.int64)[:, None]
    columns = j * COLUMNS + ct.arange(COLUMNS, dtype=ct.int64)[None, :]
    ct.scatter(y, (rows, columns), ct.load(x, (0, 0), (ROWS, COLUMNS)))


def matrix_positions(extents: tuple[int, int], steps: tuple[int, int], i: int, j: int) -> Iterator[Position]:
    starts = i % 2**32 * steps[0], j % 2**32 * steps[1]
    for r, c in itertools.product(range(ROWS), range(COLUMNS)):
        at = starts[0] + r, starts[1] + c
        yield at if at[0] < extents[0] and at[1] < extents[1] else None


def values(dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers from 1 on, so that no element is padding."""
    return (np.arange(np.prod(shape)) % 97 + 1).reshape(shape).astype(dtype)


def backends(target: str) -> list[tuple[str, dict[str, str]]]:
    return [("interpret", {}), ("simulate", {"target": target})]


def loaded(x: np.ndarray, positions: Iterator[Position], padding: object, shape: tuple[int, int]) -> np.ndarray:
    return np.array([padding if at is None else x[at] for at in positions]).reshape(shape).astype(x.dtype)


def stored(y: np.ndarray, tile: np.ndarray, positions: Iterator[Position]) -> np.ndarray:
    expected = y.copy()
    for at, value in zip(positions, tile.ravel(), strict=True):
        if at is not None:
            expected[at] = value
    return expected


PADDINGS = {
    "zero": (ct.PaddingMode.ZERO, 0),
    "inf": (ct.PaddingMode.POS_INF, np.inf),
    "nan": (ct.PaddingMode.NAN, np.nan),
}
# By kind: the kernels that load and store, and the elements between tiles.
KINDS = {
    "partition": (load_tile, store_tile, (ROWS, COLUMNS)),
    "strided": (load_tile, store_tile, (4, 16)),
    "gather": (load_rows, store_rows, (ROWS, COLUMNS)),
}


# Integers have no other padding than zero.
PADDED = [(dtype, padding) for dtype in DTYPES for padding in PADDINGS if padding == "zero" or dtype is not np.int8]


@pytest.mark.parametrize(("dtype", "padding"), PADDED)
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_of_matrices(kind: str, padding: str, dtype: type, target: str) -> None:
    load, store, steps = KINDS[kind]
    mode, value = PADDINGS[padding]
    extents = (40, 20)
    given = (value if kind == "gather" else mode), steps
    tile, source = values(dtype, (ROWS, COLUMNS)), values(dtype, extents)
    for backend, options in backends(target):
        for i, j in [(0, 0), (2, 2), (3, 0), (0, 3), *((far, 0) for far in FAR), *((0, far) for far in FAR)]:
            y = np.zeros((ROWS, COLUMNS), dtype)
            number = np.int64 if kind == "gather" else np.int32
            at = number(i), number(j)
            ct.launch(None, 1, load, (source, y, *at, *given), backend=backend, **options)
            expected = loaded(source, matrix_positions(extents, steps, i, j), value, y.shape)
            np.testing.assert_array_equal(y, expected, f"{backend} {(i, j)}")
            if padding == "zero":
                y = np.zeros(extents, dtype)
                expected = stored(y, tile, matrix_positions(extents, steps, i, j))
                ct.launch(None, 1, store, (tile, y, *at, *given), backend=backend, **options)
                np.testing.assert_array_equal(y, expected, f"{backend} {(i, j)}")


@dataclass(frozen=True)
class Images:
    """A view of images of two spatial dimensions, with one value of each parameter for both.

    `shape` is [N, H, W, C]; the channels are in slices of `interleave`. Tiles have ROWS pixels and `channels` channels.
    """

    shape: tuple[int, int, int, int]
    window: int = 1
    stride: int = 1
    lower: int = 0
    upper: int = 0
    channels: int = 8
    interleave: int | None = None
    mode: str | None = None

    @property
    def outputs(self) -> tuple[int, int]:
        covered = self.window - self.lower - self.upper
        return tuple(max(0, (extent - covered) // self.stride + 1) for extent in self.shape[1:3])

    @property
    def tiles(self) -> tuple[int, int]:
        images, (p, q), columns = self.shape[0], self.outputs, -(-self.shape[3] // self.channels)
        return (p * -(-images * q // ROWS) if self.mode else -(-images * p * q // ROWS)), columns

    def pixel(self, tile: int, number: int) -> tuple[int, int, int] | None:
        """The image and the output position of a pixel of a tile."""
        images, (p, q) = self.shape[0], self.outputs
        if self.mode:
            tiles = -(-images * q // ROWS)
            row, at = tile // tiles, tile % tiles * ROWS + number
            return (at // q, row, at % q) if row < p and at < images * q else None
        at = tile * ROWS + number
        return (at // (p * q), at // q % p, at % q) if at < images * p * q else None

    def positions(self, i: int, j: int, offset: tuple[int, int]) -> Iterator[Position]:
        for number, c in itertools.product(range(ROWS), range(self.channels)):
            pixel, channel = self.pixel(i % 2**32, number), j % 2**32 * self.channels + c
            if pixel is None or channel >= self.shape[3]:
                yield None
                continue
            at = [p * self.stride + o - self.lower for p, o in zip(pixel[1:], offset, strict=True)]
            inside = all(0 <= k < extent for k, extent in zip(at, self.shape[1:3], strict=True))
            if not inside:
                yield None
            elif self.interleave is None:
                yield (pixel[0], *at, channel)
            else:
                yield (pixel[0], channel // self.interleave, *at, channel % self.interleave)

    def array_shape(self) -> tuple[int, ...]:
        n, h, w, c = self.shape
        return (n, h, w, c) if self.interleave is None else (n, c // self.interleave, h, w, self.interleave)


def _view(array, window, stride, lower, upper, channels, interleave, mode):
    return ct.im2col_view(
        array, window=(window, window), stride=stride, padding=((lower, upper), (lower, upper)),
        tile=(ROWS, channels), interleave=interleave, mode=mode,
    )  # fmt: skip


@ct.kernel
def load_pixels(
    x, y, i, j, r, s, window: ct.Constant, stride: ct.Constant, lower: ct.Constant, upper: ct.Constant,
    channels: ct.Constant, interleave: ct.Constant, mode: ct.Constant,
):  # fmt: skip
    view = _view(x, window, stride, lower, upper, channels, interleave, mode)
    ct.store(y, (0, 0), ct.load(view, (i, j), offset=(r, s)))


@ct.kernel
def store_pixels(
    x, y, i, j, r, s, window: ct.Constant, stride: ct.Constant, lower: ct.Constant, upper: ct.Constant,
    channels: ct.Constant, interleave: ct.Constant, mode: ct.Constant,
):  # fmt: skip
    view = _view(y, window, stride, lower, upper, channels, interleave, mode)
    ct.store(view, (i, j), ct.load(x, (0, 0), (ROWS, channels)), offset=(r, s))


VIEWS = {
    "tiles have whole pixels": Images((2, 4, 8, 16), 3, 1, 1, 1),
    "tiles have parts": Images((3, 5, 7, 20), 3, 2, 1, 0),
    "negative padding": Images((2, 6, 10, 16), 1, 1, -1, -1),
    "along a row": Images((4, 4, 8, 16), 3, 1, 1, 1, mode="w"),
    "along a row, negative padding": Images((4, 6, 10, 16), 1, 1, -1, -1, mode="w"),
    "slices of a tile": Images((2, 4, 8, 16), 3, 1, 1, 1, channels=8, interleave=8),
    "parts of slices": Images((2, 4, 8, 16), 3, 1, 1, 1, channels=4, interleave=8),
    "several slices": Images((2, 4, 8, 32), 1, 1, 0, 0, channels=16, interleave=8),
}
SIGNATURES: dict[str, Callable[[Images], str]] = {
    "extents unknown": lambda images: ",".join(["?"] * len(images.array_shape())),
    "channels divisible": lambda images: ",".join(["?"] * (len(images.array_shape()) - 1) + [f"?%{images.channels}"]),
    "extents known": lambda images: ",".join(map(str, images.array_shape())),
}


def cases(names: Iterable[str]) -> list[object]:
    """Each view with each signature; all element types in long runs only, one else."""
    chosen: list[object] = []
    for number, (name, signature) in enumerate(itertools.product(names, SIGNATURES)):
        images = VIEWS[name]
        if signature == "channels divisible" and images.shape[3] % images.channels:
            continue
        # Slices have 16 or 32 bytes.
        dtypes = DTYPES[:2] if images.interleave else DTYPES
        for k, dtype in enumerate(dtypes):
            marks = [] if k == number % len(dtypes) else [pytest.mark.soak]
            chosen.append(pytest.param(name, signature, dtype, marks=marks))
    return chosen


def indices(images: Images) -> list[tuple[int, int]]:
    pixels, channels = images.tiles
    first = [pixels - 1, pixels, pixels + 1, pixels + 5, *FAR]
    second = [channels, channels + 1, channels + 2, *FAR]
    return [(0, 0), (0, channels - 1), (1, channels), *((i, 0) for i in first), *((0, j) for j in second), (-1, -1)]


def compiled_for(kernel: ct.Kernel, images: Images, signature: str, dtype: type, matrix: str, target: str):
    extents = SIGNATURES[signature](images)
    if images.interleave is not None:
        extents = ",".join([*extents.split(",")[:-1], str(images.interleave)])
    strides = ",".join(["?"] * (len(images.array_shape()) - 1) + ["1"])
    array = f"{ELEMENTS[dtype]}[{extents}] strides ({strides}) align {np.dtype(dtype).itemsize}"
    result = f"{matrix}[{ROWS},{images.channels}] align 1"
    x, y = (result, array) if kernel is store_pixels else (array, result)
    numbers = ", ".join(f"{name}: i32" for name in "ijrs")
    constants = (
        f"window={images.window}, stride={images.stride}, lower={images.lower}, upper={images.upper}, "
        f"channels={images.channels}, interleave={images.interleave}, mode={images.mode!r}"
    )
    return ct.compile(kernel, signature=f"x: {x}, y: {y}, {numbers}, {constants}", target=target, stop="ptx")


def _arrays(images: Images, dtype: type) -> dict[str, np.ndarray]:
    """Images after one another, and one image that a stride of 0 repeats."""
    shape = images.array_shape()
    dense = values(dtype, shape)
    return {"dense": dense, "repeated": np.broadcast_to(dense[:1], shape)}


# Loads along a row demand TMA (test_im2col_bounds.py).
@pytest.mark.parametrize(("name", "signature", "dtype"), cases([name for name in VIEWS if not VIEWS[name].mode]))
def test_loads_of_pixels(name: str, signature: str, dtype: type, target: str) -> None:
    images = VIEWS[name]
    compiled = compiled_for(load_pixels, images, signature, dtype, ELEMENTS[dtype], target)
    offset = (images.window - 1, images.window // 2)
    for array, x in _arrays(images, dtype).items():
        for (backend, _), (i, j) in itertools.product(backends(target), indices(images)):
            y = np.full((ROWS, images.channels), -1, dtype)
            ct.run(compiled, 1, [x, y, i, j, *offset], backend=backend)
            expected = loaded(x, images.positions(i, j, offset), 0, y.shape)
            np.testing.assert_array_equal(y, expected, f"{array} {backend} {(i, j)}")


@pytest.mark.parametrize(("name", "signature", "dtype"), cases(VIEWS))
def test_stores_of_pixels(name: str, signature: str, dtype: type, target: str) -> None:
    images = VIEWS[name]
    compiled = compiled_for(store_pixels, images, signature, dtype, ELEMENTS[dtype], target)
    offset = (images.window - 1, images.window // 2)
    tile = values(dtype, (ROWS, images.channels))
    for (backend, _), (i, j) in itertools.product(backends(target), indices(images)):
        y = np.zeros(images.array_shape(), dtype)
        expected = stored(y, tile, images.positions(i, j, offset))
        ct.run(compiled, 1, [tile, y, i, j, *offset], backend=backend)
        np.testing.assert_array_equal(y, expected, f"{backend} {(i, j)}")


@ct.kernel
def load_packed(x, y, i, j, bits: ct.Constant):
    ct.store(y, (0, 0), ct.load(ct.packed_view(x, bits=bits, tile=(ROWS, COLUMNS)), (i, j)))


@ct.kernel
def store_packed(x, y, i, j, bits: ct.Constant):
    ct.store(ct.packed_view(y, bits=bits, tile=(ROWS, COLUMNS)), (i, j), ct.load(x, (0, 0), (ROWS, COLUMNS)))


def packed_rows(rows: np.ndarray, bits: int) -> np.ndarray:
    """The bytes of rows of elements of `bits` bits each, the lowest bits first."""
    ones = (rows[..., None] >> np.arange(bits)) & 1
    return np.packbits(ones.reshape(len(rows), -1).astype(np.uint8), axis=1, bitorder="little")


@pytest.mark.parametrize("extents", ["?,?", "?%16,?%8", "48,24"])
@pytest.mark.parametrize("bits", [2, 4, 6])
def test_tiles_of_packed_elements(bits: int, extents: str, target: str) -> None:
    rows, columns = 48, 24 * 8 // bits
    elements = (np.arange(rows * columns).reshape(rows, columns) * 7 + 1) % 2**bits
    tile = np.full((ROWS, COLUMNS), 2**bits - 1, np.uint8)
    array, result = f"u8[{extents}] strides (?,1) align 1", f"u8[{ROWS},{COLUMNS}] align 1"
    numbers = f"i: i32, j: i32, bits={bits}"
    load = ct.compile(load_packed, signature=f"x: {array}, y: {result}, {numbers}", target=target, stop="ptx")
    store = ct.compile(store_packed, signature=f"x: {result}, y: {array}, {numbers}", target=target, stop="ptx")
    last, wide = rows // ROWS - 1, columns // COLUMNS - 1
    places = [
        (0, 0),
        (last, wide),
        (last + 1, 0),
        (0, wide + 1),
        (-1, -1),
        *((k, 0) for k in FAR),
        *((0, k) for k in FAR),
    ]
    for (backend, _), (i, j) in itertools.product(backends(target), places):
        positions = list(matrix_positions((rows, columns), (ROWS, COLUMNS), i, j))
        # Rows before the first and after the last one belong to the same memory, with all bits set.
        memory = np.full((rows + 2, 24), 255, np.uint8)
        memory[1:-1] = packed_rows(elements, bits)
        y = np.full((ROWS, COLUMNS), 99, np.uint8)
        ct.run(load, 1, [memory[1:-1], y, i, j], backend=backend)
        np.testing.assert_array_equal(y, loaded(elements, iter(positions), 0, y.shape), f"{backend} {(i, j)}")
        written = stored(elements, tile, iter(positions))
        ct.run(store, 1, [tile, memory[1:-1], i, j], backend=backend)
        np.testing.assert_array_equal(memory[1:-1], packed_rows(written, bits), f"{backend} {(i, j)}")
        assert (memory[[0, -1]] == 255).all()
