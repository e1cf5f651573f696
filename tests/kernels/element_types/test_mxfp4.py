"""Quantization to MXFP4 and back: f4E2M1FN elements, two in a byte, and one f8E8M0FNU scale for each 32 of a row.

OCP Microscaling Formats (MX) 1.0, 5.2 and 6.3: the scale is a power of two, so that products with it are exact.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere
from programs import dequantized, quantized

BLOCK = 32
E2M1, E8M0 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu


def scales(x: np.ndarray) -> np.ndarray:
    """The exponents of the scales: 2**e is the least power of two of at least largest / 6, of 2**-127 at least."""
    largest = np.abs(x.astype(np.float32)).reshape(*x.shape[:-1], -1, BLOCK).max(axis=-1)
    mantissa, exponent = np.frexp(largest / np.float32(6))
    return np.clip(np.where(mantissa == 0.5, exponent - 1, exponent), -127, 127) * (largest > 0) - 127 * (largest == 0)


def nearest(x: np.ndarray) -> np.ndarray:
    """The codes of the nearest E2M1 numbers, ties to even codes, by comparison with the middles between them."""
    middles = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
    magnitude = np.abs(x)
    code = sum(magnitude > m if at % 2 == 0 else magnitude >= m for at, m in enumerate(middles))
    return (code + 8 * np.signbit(x)).astype(np.uint8)


def numpy_quantized(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exponents = scales(x)
    grouped = x.astype(np.float32).reshape(*x.shape[:-1], -1, BLOCK)
    codes = nearest(np.ldexp(grouped, -exponents[..., None])).reshape(x.shape)
    return codes[:, 0::2] | codes[:, 1::2] << 4, (exponents + 127).astype(np.uint8)


def samples(shape: tuple[int, int], dtype: type, seed: int = 5) -> np.ndarray:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape).astype(np.float32) * 2.0 ** random.integers(-10, 10, (shape[0], 1))
    # Ties and limits of a block whose scale is 1, and a block of zeros.
    x[0, :BLOCK] = np.resize([0.25, -0.25, 0.75, 1.25, -1.75, 2.5, 3.5, 5.0, 6.0, -6.0, -0.0, 0.2], BLOCK)
    x[1, :BLOCK] = 0
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(("rows", "blocks"), [(16, 4), (8, 1), (4, 16)])
def test_quantization(target, dtype, rows, blocks):
    x = samples((2 * rows, 2 * blocks * BLOCK), dtype)
    packed, exponents = numpy_quantized(x)
    q, s = np.zeros(packed.shape, np.uint8), np.zeros(exponents.shape, np.uint8).view(E8M0)
    for found, scale in run_everywhere(quantized, (2, 2), (x, q, s, rows, blocks), (1, 2), target=target, hints={}):
        assert np.array_equal(scale.view(np.uint8), exponents)
        assert np.array_equal(found, packed)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16], ids=["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("rows", "blocks"), [(16, 4), (8, 1), (4, 16)])
def test_dequantization(target, dtype, rows, blocks):
    random = np.random.default_rng(6)
    q = random.integers(0, 256, (2 * rows, 2 * blocks * 16)).astype(np.uint8)
    s = random.integers(120, 135, (2 * rows, 2 * blocks)).astype(np.uint8)
    elements = np.stack([q & 15, q >> 4], axis=-1).reshape(2 * rows, -1).view(E2M1).astype(np.float32)
    exact = np.ldexp(elements.reshape(2 * rows, -1, BLOCK), s.astype(np.int32)[..., None] - 127)
    x = np.zeros(elements.shape, dtype)
    for (found,) in run_everywhere(
        dequantized, (2, 2), (q, s.view(E8M0), x, rows, blocks), (2,), target=target, hints={}
    ):
        assert np.array_equal(found, exact.reshape(x.shape).astype(dtype))
