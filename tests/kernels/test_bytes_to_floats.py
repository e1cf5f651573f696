"""Bytes become floats four at a time, after bit operations and shifts too: every byte against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
COUNT = 1024
FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}


@ct.kernel
def converted(X, R):
    ct.store(R, (0,), ct.load(X, (0,), (COUNT,)).astype(R.dtype))


@ct.kernel
def nibbles(X, R, bits: ct.Constant[int]):
    """The low and the high bits of each byte, and the byte after changes that keep it."""
    x = ct.load(X, (0,), (COUNT,))
    mask = (1 << bits) - 1
    ct.store(R, (0, 0), (x & mask).astype(R.dtype)[None, :])
    ct.store(R, (1, 0), (x >> bits).astype(R.dtype)[None, :])
    ct.store(R, (2, 0), (((x | 1) ^ 3) >> bits).astype(R.dtype)[None, :])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_every_byte(dtype: type, result: str, target: str) -> None:
    x = np.arange(COUNT).astype(np.uint8).view(dtype)
    for (found,) in run_everywhere(
        converted, (1,), (x, np.zeros(COUNT, FLOATS[result])), (1,), target=target, hints={}
    ):
        np.testing.assert_array_equal(found.astype(np.float64), x.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", [1, 4, 7])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bits_of_bytes(dtype: type, bits: int, target: str) -> None:
    x = np.arange(COUNT).astype(np.uint8).view(dtype)
    mask = dtype((1 << bits) - 1)
    expected = np.stack([x & mask, x >> dtype(bits), ((x | dtype(1)) ^ dtype(3)) >> dtype(bits)]).astype(np.float64)
    args = (x, np.zeros((3, COUNT), np.float32), bits)
    for (found,) in run_everywhere(nibbles, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_no_byte_is_converted_alone() -> None:
    for kernel, args in ((converted, ()), (nibbles, (4,))):
        shape = (3, COUNT) if args else (COUNT,)
        signature = ct.Signature.from_arguments(kernel, (np.zeros(COUNT, np.int8), np.zeros(shape, np.float16), *args))
        ptx = ct.compile(kernel, target="sm_100a", signature=signature).ptx
        assert "cvt.rn.f16" not in ptx
        assert "prmt.b32" in ptx
