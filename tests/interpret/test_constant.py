"""Constants of every element type, as splats and lists."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "tf32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}


def stored(execute, element, literal, dtype):
    result = np.zeros(4, dtype)
    tensor = f"tensor_view<4x{element}, strides=[1]>"
    view = f"partition_view<tile=(4), {tensor}>"
    body = f"""%t = make_tensor_view %p, shape = [4], strides = [1] : {tensor}
    %v = make_partition_view %t : {view}
    %x = constant <{element}: {literal}> : tile<4x{element}>
    %zero = constant <i32: 0> : tile<i32>
    %k = store_view_tko weak %x, %v[%zero] : tile<4x{element}>, {view}, tile<i32> -> token"""
    execute(f"%p: tile<ptr<{element}>>", body, result)
    return result


@pytest.mark.parametrize("element", FLOATS)
def test_floats(execute, element):
    dtype = FLOATS[element]
    assert stored(execute, element, "[1.0, -1.5, 0.25, -0.0]", dtype).astype(float).tolist() == [1.0, -1.5, 0.25, -0.0]
    assert stored(execute, element, "-1.75", dtype).astype(float).tolist() == [-1.75] * 4


@pytest.mark.parametrize(
    ("element", "literal", "codes"),
    [
        ("f8E8M0FNU", "[1.0, 2.0, 0.5, 4.0]", [127, 128, 126, 129]),
        ("f8E8M0FNU", "4.0", [129] * 4),
        ("fnv8E5M3FNU", "[1.0, 1.125, 2.0, 0.5]", [120, 121, 128, 112]),
        ("fnv8E5M3FNU", "1.25", [122] * 4),
        ("f8E4M3FN", "0x7F", [127] * 4),
        ("f8E5M2", "[0x7C, 0xFC, 0x00, 0x80]", [0x7C, 0xFC, 0, 0x80]),
    ],
)
def test_eight_bit_floats(execute, element, literal, codes):
    assert stored(execute, element, literal, np.uint8).tolist() == codes


def test_four_bit_floats(execute):
    assert stored(execute, "f4E2M1FN", "[0.5, 1.5, -6.0, 4.0]", np.uint8)[:2].tolist() == [0x31, 0x6F]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_integers(execute, width):
    dtype, top = np.dtype(f"i{width // 8}"), 2 ** (width - 1)
    literal = f"[{-top}, {top - 1}, -1, 0]"
    assert stored(execute, f"i{width}", literal, dtype).tolist() == [-top, top - 1, -1, 0]
    assert stored(execute, f"i{width}", "-3", dtype).tolist() == [-3] * 4


def test_booleans(execute):
    assert stored(execute, "i1", "[true, false, true, true]", np.uint8).tolist() == [1, 0, 1, 1]
    assert stored(execute, "i1", "true", np.uint8).tolist() == [1] * 4


@pytest.mark.parametrize("element", ["bf16", "tf32", "f8E4M3FN", "f32"])
def test_more_than_100_elements(execute, element):
    """MLIR stores and prints more than 100 elements as bytes."""
    numbers = (np.arange(128) % 15 - 7) / 4 + (np.arange(128) >= 64) * 8
    result = np.zeros(128, FLOATS[element])
    tensor = f"tensor_view<128x{element}, strides=[1]>"
    view = f"partition_view<tile=(128), {tensor}>"
    body = f"""%t = make_tensor_view %p, shape = [128], strides = [1] : {tensor}
    %v = make_partition_view %t : {view}
    %x = constant <{element}: {numbers.tolist()}> : tile<128x{element}>
    %zero = constant <i32: 0> : tile<i32>
    %k = store_view_tko weak %x, %v[%zero] : tile<128x{element}>, {view}, tile<i32> -> token"""
    execute(f"%p: tile<ptr<{element}>>", body, result)
    assert result.astype(float).tolist() == numbers.astype(FLOATS[element]).astype(float).tolist()


def test_infinity_and_nan_in_a_list(execute):
    got = stored(execute, "bf16", "[0x7F80, 0xFF80, 0x7FC0, 1.0]", ml_dtypes.bfloat16).astype(float)
    assert np.array_equal(got, [np.inf, -np.inf, np.nan, 1.0], equal_nan=True)
    assert stored(execute, "tf32", "[0x3FC00, 0x7FC00, 1.0, 2.0]", np.float32).tolist() == [np.inf, -np.inf, 1.0, 2.0]


def test_constants_are_exact_although_mlir_prints_six_digits(execute):
    """MLIR prints 2**-16 as 1.525880e-05, which is larger; the constant is the nearest number of the format."""
    assert stored(execute, "fnv8E5M3FNU", "[0x01, 0x02, 0x03, 0x04]", np.uint8).tolist() == [1, 2, 3, 4]
