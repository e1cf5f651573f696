"""Products of block-scaled matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cutile.bounded import Bounded, compare
from cutile.export import PackedFloats
from cutile.sampling import Comparisons, Launch, constants, random, tiles

E8M0, E4M3 = np.dtype(ml_dtypes.float8_e8m0fnu), np.dtype(ml_dtypes.float8_e4m3fn)
# The values of f4E2M1FN by their codes.
F4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])

Operand = tuple[np.ndarray | PackedFloats, np.ndarray, np.ndarray]


def block_scaled_matmul(
    launch: Launch,
    extents: tuple[int, int, int] = (256, 128, 256),
    swizzled: bool = False,
    block: int = 32,
    elements: np.dtype | None = E4M3,
    scales: np.dtype = E8M0,
) -> Comparisons:
    """Each `block` elements along k share a scale, a power of two; without `elements` they are f4E2M1FN."""
    (m, n, k), tile = extents, (128, 128, 128)
    a, a_scale, a_value = _operand(1, m, k, block, elements, scales)
    b, b_scale, b_value = _operand(2, n, k, block, elements, scales)
    c = np.zeros((m, n), np.float32)
    scale_arguments = [_swizzled(a_scale), _swizzled(b_scale)] if swizzled else [a_scale, b_scale.T]
    grid = (tiles(m, tile[0]) * tiles(n, tile[1]),)
    launch(
        "block_scaled_matmul",
        grid,
        [a, scale_arguments[0], _transposed(b), scale_arguments[1], c, *constants(*tile, block)],
    )
    name = f"{elements or 'float4_e2m1fn'} by {scales} of {block}{', swizzled' * swizzled}"
    yield compare(f"block-scaled matmul {m}x{n}x{k} {name}", c, Bounded.exact(a_value) @ b_value.T)


def _operand(seed: int, rows: int, columns: int, block: int, elements: np.dtype | None, scales: np.dtype) -> Operand:
    """A matrix, the scales of its blocks, and the scaled values."""
    generator = np.random.default_rng(seed)
    scale = (2.0 ** generator.integers(-6, 6, (rows, tiles(columns, block)))).astype(scales)
    factors = np.repeat(scale.astype(np.float64), block, 1)[:, :columns]
    if elements is None:
        codes = generator.integers(0, 16, (rows, columns)).astype(np.uint8)
        return PackedFloats(codes[:, 0::2] | codes[:, 1::2] << 4), scale, F4[codes] * factors
    matrix = random(seed, rows, columns, dtype=elements)
    return matrix, scale, matrix.astype(np.float64) * factors


def _transposed(matrix: np.ndarray | PackedFloats) -> np.ndarray | PackedFloats:
    return matrix.transposed() if isinstance(matrix, PackedFloats) else matrix.T


def _swizzled(scale: np.ndarray) -> np.ndarray:
    """Four groups of 32 rows with four scales each are contiguous (PTX ISA, scale factors of tcgen05.mma)."""
    rows, columns = scale.shape
    parts = scale.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(parts).reshape(rows // 128, columns // 4, 32, 16)
