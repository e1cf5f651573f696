"""NaN of 8-bit floats has the bits that cvt gives, in the interpreter and in the simulator."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TILE = 256


@ct.kernel
def converted(x, y):
    """y = x in the type of y."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(y, (ct.bid(0),), tile.astype(y.dtype))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("widens", [False, True])
def test_backends_give_the_same_bits(name: str, widens: bool, target: str) -> None:
    """All codes of f16 to 8 bits, and all codes of 8 bits to f16; NaN is 0x7F, and 0x7FFF in f16."""
    narrow = np.dtype(getattr(ml_dtypes, name))
    wide = np.arange(2**16, dtype=np.uint16).view(np.float16)
    codes = np.arange(256, dtype=np.uint8).view(narrow) if widens else wide
    result = np.zeros(codes.size, np.float16 if widens else narrow)
    outputs = run_everywhere(converted, (codes.size // TILE,), (codes, result), [1], target=target, hints={})
    bits = [np.asarray(output[0]).view(np.uint16 if widens else np.uint8) for output in outputs]
    assert len(bits) > 1
    for other in bits[1:]:
        np.testing.assert_array_equal(bits[0], other)
    assert set(bits[0][np.isnan(codes.astype(np.float32))]) == {0x7FFF if widens else 0x7F}


@ct.kernel
def made(x, y):
    """A constant, and the padding of a load."""
    ct.store(y, 0, ct.full(8, float("nan"), y.dtype))
    ct.store(y, 1, ct.load(x, 0, (8,), padding_mode=ct.PaddingMode.NAN))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_constants_and_padding_have_the_same_bits(name: str, target: str) -> None:
    narrow = np.dtype(getattr(ml_dtypes, name))
    outputs = run_everywhere(made, (1,), (np.zeros(2, narrow), np.zeros(16, narrow)), [1], target=target, hints={})
    assert len(outputs) > 1
    for output in outputs:
        assert np.asarray(output[0]).view(np.uint8).tolist() == [0x7F] * 8 + [0] * 2 + [0x7F] * 6
