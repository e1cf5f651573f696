"""The functions of tilec that random kernels call, implemented with numpy, which runs the source of the kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np


class NumpyTiles:
    """Stands for the module `tilec` in the source of a kernel, in one block of a grid."""

    class PaddingMode:
        """The padding that the kernels use."""

        ZERO = "zero"

    class MemoryOrder:
        """The order of atomic updates that the kernels use."""

        RELAXED = "relaxed"

    float32, tfloat32, float16, bfloat16 = np.float32, np.float32, np.float16, ml_dtypes.bfloat16
    float8_e4m3fn, float8_e5m2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    exp2, floor, minimum, maximum = np.exp2, np.floor, np.minimum, np.maximum
    where, static_iter = staticmethod(np.where), staticmethod(iter)

    def __init__(self, block: int, blocks: int = 1) -> None:
        self.block, self.blocks = block, blocks

    def bid(self, axis: int) -> int:
        return self.block

    def num_blocks(self, axis: int) -> int:
        return self.blocks

    def load(
        self, array: np.ndarray, index: tuple[int, ...], shape: tuple[int, ...], padding_mode: str = "zero"
    ) -> np.ndarray:
        tile = np.zeros(shape, array.dtype)
        found = array[_region(index, shape)]
        tile[tuple(map(slice, found.shape)) if shape else ()] = found if shape else found.item()
        return tile

    def store(self, array: np.ndarray, index: tuple[int, ...], tile: np.ndarray) -> None:
        inside = array[_region(index, tile.shape)]
        inside[...] = tile[tuple(map(slice, inside.shape))]

    def gather(self, array: np.ndarray, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        rows, columns = np.broadcast_arrays(*indices)
        inside = columns < array.shape[1]
        return np.where(inside, array[rows, np.where(inside, columns, 0)], 0).astype(array.dtype)

    def scatter(self, array: np.ndarray, indices: tuple[np.ndarray, ...], value: np.ndarray) -> None:
        rows, columns = np.broadcast_arrays(*indices)
        inside = columns < array.shape[1]
        array[rows[inside], columns[inside]] = value[inside]

    def Slice(self, start: int, length: int) -> slice:
        return slice(start, start + length)

    def load_advanced_indexing(
        self, array: np.ndarray, indices: tuple[np.ndarray, slice], padding_mode: str
    ) -> np.ndarray:
        rows, columns = indices
        inside = rows < len(array)
        tile = np.zeros((len(rows), columns.stop - columns.start), array.dtype)
        found = array[np.where(inside, rows, 0), columns]
        tile[inside, : found.shape[1]] = found[inside]
        return tile

    def atomic_add(self, array: np.ndarray, index: int, update: int, memory_order: str = "") -> int:
        before = int(array[index])
        array[index] += update
        return before

    def arange(self, size: int, *, dtype: type) -> np.ndarray:
        return np.arange(size, dtype=dtype)

    def zeros(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        return np.zeros(shape, dtype)

    def full(self, shape: tuple[int, ...], value: float, dtype: type) -> np.ndarray:
        return np.full(shape, value, dtype)

    def mma(self, x: np.ndarray, y: np.ndarray, acc: np.ndarray) -> np.ndarray:
        """Sums in float64, which is exact for the values of these kernels, in the type of the accumulator."""
        return (x.astype(np.float64) @ y.astype(np.float64) + acc.astype(np.float64)).astype(acc.dtype)

    def permute(self, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return np.transpose(x, axes)

    def sum(self, x: np.ndarray, axis: int, *, keepdims: bool) -> np.ndarray:
        return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)

    def max(self, x: np.ndarray, axis: int | None = None, *, keepdims: bool = False) -> np.ndarray:
        return np.max(x, axis=axis, keepdims=keepdims)

    def broadcast_to(self, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(x, shape)


class WideTiles(NumpyTiles):
    """As NumpyTiles with all floats in float64: a kernel whose results differ rounds somewhere."""

    float32 = tfloat32 = float16 = bfloat16 = float8_e4m3fn = float8_e5m2 = np.float64

    def load(
        self, array: np.ndarray, index: tuple[int, ...], shape: tuple[int, ...], padding_mode: str = "zero"
    ) -> np.ndarray:
        return _wide(super().load(array, index, shape, padding_mode))

    def load_advanced_indexing(
        self, array: np.ndarray, indices: tuple[np.ndarray, slice], padding_mode: str
    ) -> np.ndarray:
        return _wide(super().load_advanced_indexing(array, indices, padding_mode))

    def gather(self, array: np.ndarray, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        return _wide(super().gather(array, indices))


def _wide(tile: np.ndarray) -> np.ndarray:
    return tile if np.issubdtype(tile.dtype, np.integer) else tile.astype(np.float64)


def _region(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    extents = shape or (1,) * len(index)
    return tuple(slice(i * extent, (i + 1) * extent) for i, extent in zip(index, extents, strict=True))
