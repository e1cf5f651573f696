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


@ct.kernel
def differences(X, Z, R):
    """Bytes, their lower nibbles, and those less 8, less each zero point; both are floats before."""
    x, z = ct.load(X, (0,), (COUNT,))[:, None], ct.load(Z, (ct.bid(0),), (8,)).astype(R.dtype)[None, :]
    nibble = x & 15
    ct.store(R, (0, 0, ct.bid(0)), (x.astype(R.dtype) - z)[None])
    ct.store(R, (1, 0, ct.bid(0)), (nibble.astype(R.dtype) - z)[None])
    ct.store(R, (2, 0, ct.bid(0)), ((nibble.astype(ct.int16) - 8).astype(R.dtype) - z)[None])
    ct.store(R, (3, 0, ct.bid(0)), (x.astype(R.dtype) - ct.full((1, 8), 300, R.dtype))[None])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", ["float16", "bfloat16"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("zeros", [np.int8, np.uint8, np.int16])
def test_differences_of_integers(zeros: type, dtype: type, result: str, target: str) -> None:
    """The operands are exact, and the difference is rounded once, as numpy does."""
    x = np.arange(COUNT).astype(np.uint8).view(dtype)
    z = np.resize(np.array([-128, -127, -9, -8, -1, 0, 1, 7, 8, 120, 126, 127, 128, 129, 200, 255]), 16).astype(zeros)
    as_float = FLOATS[result]
    nibble = (x & dtype(15)).astype(np.int64)
    lefts = [x.astype(np.int64), nibble, nibble - 8]
    expected = [left[:, None].astype(as_float) - z[None].astype(as_float) for left in lefts]
    expected.append(np.broadcast_to(x[:, None].astype(as_float) - as_float(300), (COUNT, 16)))
    args = (x, z, np.zeros((4, COUNT, 16), as_float))
    for (found,) in run_everywhere(differences, (2,), args, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found.astype(np.float64), np.stack(expected).astype(np.float64))


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


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bytes_are_subnormal_bf16_first(dtype: type) -> None:
    """Two bytes take a permutation, a product or a sum with it, and a product; a word has its signs inverted once."""
    args = (np.zeros(COUNT, dtype), np.zeros(COUNT, ml_dtypes.bfloat16))
    ptx = ct.compile(converted, target="sm_90a", signature=ct.Signature.from_arguments(converted, args)).ptx
    pairs, is_signed = ptx.count("prmt.b32"), dtype is np.int8
    assert pairs > 0
    assert (ptx.count("fma.rn.bf16x2"), ptx.count("mul.rn.bf16x2")) == ((pairs, pairs) if is_signed else (0, 2 * pairs))
    assert ptx.count("xor.b32") == is_signed * pairs // 2
    assert "lop3" not in ptx
    assert "cvt.rn.bf16" not in ptx
