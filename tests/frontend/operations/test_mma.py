"""Matrix multiplication agrees with numpy; operands are small integers, so that every sum is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


def integers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(1).integers(-4 if np.dtype(dtype).kind != "u" else 0, 5, shape).astype(dtype)


@ct.kernel
def multiply(a, b, c, d):
    x, y = ct.load(a, (0, 0), (16, 32)), ct.load(b, (0, 0), (32, 8))
    ct.store(d, (0, 0), ct.mma(x, y, ct.load(c, (0, 0), (16, 8))))


@pytest.mark.parametrize(
    ("inputs", "accumulator"),
    [
        (np.float16, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (ml_dtypes.float8_e4m3fn, np.float32),
        (np.int8, np.int32),
        (np.uint8, np.int32),
    ],
)
def test_mma_by_type(interpret: Interpret, inputs: Any, accumulator: Any) -> None:
    a, b, c = integers((16, 32), inputs), integers((32, 8), inputs), integers((16, 8), accumulator)
    d = np.zeros((16, 8), accumulator)
    interpret(multiply, 1, a, b, c, d)
    np.testing.assert_array_equal(d, a.astype(np.float64) @ b.astype(np.float64) + c)


@pytest.mark.parametrize("inputs", [(np.int8, np.uint8), (np.uint8, np.int8), (np.uint8, np.uint8)])
def test_mma_of_mixed_signedness(interpret: Interpret, inputs: tuple[Any, Any]) -> None:
    random = np.random.default_rng(5)
    a, b = (random.integers(np.iinfo(t).min, np.iinfo(t).max + 1, (16 * 32,)).astype(t) for t in inputs)
    a, b, c, d = a.reshape(16, 32), b[:256].reshape(32, 8), integers((16, 8), np.int32), np.zeros((16, 8), np.int32)
    interpret(multiply, 1, a, b, c, d)
    np.testing.assert_array_equal(d, a.astype(np.int64) @ b.astype(np.int64) + c)


@ct.kernel
def batched(a, b, c):
    x, y = ct.load(a, (0, 0, 0), (2, 16, 8)), ct.load(b, (0, 0), (8, 4))
    ct.store(c, (0, 0, 0), x @ y)


def test_batch_axis_is_broadcast(interpret: Interpret) -> None:
    a, b, c = integers((2, 16, 8), np.float16), integers((8, 4), np.float16), np.zeros((2, 16, 4), np.float16)
    interpret(batched, 1, a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@ct.kernel
def vectors(a, b, dot, row, column):
    x, y = ct.load(a, (0,), (8,)), ct.load(b, (0, 0), (8, 4))
    ct.store(dot, (0,), ct.matmul(x, x).reshape((1,)))
    ct.store(row, (0,), x @ y)
    ct.store(column, (0,), ct.transpose(y) @ x)


def test_vectors_are_rows_on_the_left_and_columns_on_the_right(interpret: Interpret) -> None:
    a, b = integers((8,), np.float32), integers((8, 4), np.float32)
    dot, row, column = np.zeros(1, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    interpret(vectors, 1, a, b, dot, row, column)
    np.testing.assert_array_equal(dot, [a @ a])
    np.testing.assert_array_equal(row, a @ b)
    np.testing.assert_array_equal(column, b.T @ a)


def test_f32_is_not_multiplied_as_tf32_unless_converted(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(a, c, tf32: ct.Constant[bool]):
        x = ct.load(a, (0, 0), (16, 16))
        x = x.astype(ct.tfloat32) if tf32 else x
        ct.store(c, (0, 0), ct.mma(x, x, ct.zeros((16, 16), ct.float32)))

    assert "tile<16x16xtf32>, tile<16x16xtf32>" in tile_text(kernel, "a: f32[?,?], c: f32[?,?], tf32=True")
    assert "tf32" not in tile_text(kernel, "a: f32[?,?], c: f32[?,?], tf32=False").split("tilec.signature")[0]


@ct.kernel
def scaled(a, a_scale, b, b_scale, c):
    x, y = ct.load(a, (0, 0), (16, 64)), ct.load(b, (0, 0), (64, 8))
    x_scale, y_scale = ct.load(a_scale, (0, 0), (16, 2)), ct.load(b_scale, (0, 0), (2, 8))
    ct.store(c, (0, 0), ct.mma_scaled(x, x_scale, y, y_scale, ct.zeros((16, 8), ct.float32)))


def test_scale_applies_to_32_elements_along_k(interpret: Interpret) -> None:
    a, b = integers((16, 64), ml_dtypes.float8_e4m3fn), integers((64, 8), ml_dtypes.float8_e4m3fn)
    powers = np.random.default_rng(4).integers(-2, 3, (3, 16, 8))
    a_scale = (2.0 ** powers[0, :, :2]).astype(ml_dtypes.float8_e8m0fnu)
    b_scale = (2.0 ** powers[1, :2]).astype(ml_dtypes.float8_e8m0fnu)
    c = np.zeros((16, 8), np.float32)
    interpret(scaled, 1, a, a_scale, b, b_scale, c)
    wide = [v.astype(np.float64) for v in (a, a_scale, b, b_scale)]
    np.testing.assert_array_equal(c, (wide[0] * wide[1].repeat(32, 1)) @ (wide[2] * wide[3].repeat(32, 0)))
