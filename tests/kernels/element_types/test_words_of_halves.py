"""Bit operations on 16-bit integers, of arrays and of bytes, two in a word: results as numpy's."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.explain.cost import kernel_costs
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
COUNT = 1024
RESULTS = 14


def results_of(x, y):
    """Bit operations and shifts of two tiles or arrays of 16 bits, in the language and in numpy."""
    return (
        x & 0x0FF0,
        x | 0x5A5A,
        x ^ 0x1234,
        x << 5,
        x >> 3,
        (x & 15) >> 2,
        ((x & 8) << 12) | ((x & 7) << 6),
        ((x & 0xF0) >> 4) << 12,
        (x & 0x7FFF) >> 9,
        x & y,
        (x | y) ^ (y >> 1),
        ((x >> 8) & 0x7F) << 8,
        # Bits that are moved to the place of the sign.
        (x << 11) >> 8,
        ((x & 15) << 12) >> 3,
    )


@ct.kernel
def halves(X, Y, R):
    x, y = ct.load(X, (0,), (COUNT,)).astype(R.dtype), ct.load(Y, (0,), (COUNT,)).astype(R.dtype)
    results = results_of(x, y)
    for number in ct.static_iter(range(RESULTS)):
        ct.store(R, (number, 0), results[number][None])


@ct.kernel
def interleaved(X, R):
    """The nibbles of bytes as bits of floats; neighbours lie in words of their own, and rows share a factor."""
    q = ct.load(X, (0, 0), (32, COUNT // 32)).astype(ct.int16)
    n = ct.cat(((q & 15)[:, :, None], (q >> 4)[:, :, None]), 2).reshape((32, 2, COUNT // 32))
    bits = ((n & 8) << 12) | ((n & 7) << 6)
    factors = ct.bitcast((ct.load(X, (0, 0), (32, 2)).astype(ct.int16) & 0x7F) + 64 << 7, ct.bfloat16)
    ct.store(R, (0, 0), (ct.bitcast(bits, ct.bfloat16) * factors[:, :, None]).reshape((32, COUNT // 16)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("result", [np.int16, np.uint16])
def test_bit_operations(source: type, result: type, target: str, random: np.random.Generator) -> None:
    info = np.iinfo(source)
    x, y = (random.integers(info.min, info.max, COUNT, dtype=source, endpoint=True) for _ in range(2))
    x[:4], y[:4] = [info.min, info.max, 0, 1], [info.max, info.min, 1, 0]
    expected = np.stack(results_of(x.astype(result), y.astype(result)))
    args = (x, y, np.zeros((RESULTS, COUNT), result))
    for (found,) in run_everywhere(halves, (1,), args, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_interleaved_halves(target: str) -> None:
    x = np.resize(np.arange(256), (32, COUNT // 32)).astype(np.uint8)
    n = np.stack((x & 15, x >> 4), 2).astype(np.int16).reshape(32, 2, COUNT // 32)
    values = (((n & 8) << 12) | ((n & 7) << 6)).view(ml_dtypes.bfloat16)
    factors = ((x[:, :2].astype(np.int16) & 0x7F) + 64 << 7).view(ml_dtypes.bfloat16)
    expected = (values.astype(np.float32) * factors[:, :, None].astype(np.float32)).astype(ml_dtypes.bfloat16)
    args = (x, np.zeros((32, COUNT // 16), ml_dtypes.bfloat16))
    for (found,) in run_everywhere(interleaved, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found.view(np.uint16), expected.reshape(32, -1).view(np.uint16))


def test_instructions_have_two_elements() -> None:
    """A thread with 16 elements of one row has a product, and shifts the bits, of two at once."""
    args = (np.zeros((32, COUNT // 32), np.uint8), np.zeros((32, COUNT // 16), ml_dtypes.bfloat16))
    signature = Signature.from_arguments(interleaved, args)
    ptx = ct.compile(interleaved, target="sm_100a", signature=signature, stop="ptx").ptx
    assert re.findall(r"mul\.rn\.bf16\S*", ptx) == ["mul.rn.bf16x2"] * 8
    assert len(re.findall(r"shl\.b32 .*, 12;", ptx)) == 8


@ct.kernel
def accumulated_bits(X, R):
    total = ct.zeros((COUNT,), R.dtype)
    for number in range(ct.num_tiles(X, 0, (COUNT,))):
        x = ct.load(X, (number,), (COUNT,))
        total = total ^ (((x & 7) << 6) | (x & 8))
    ct.store(R, (0,), total)


def test_cost_of_two_elements_in_a_word() -> None:
    """Five operations of a tile, of which none needs a mask, are half of those of 32 bits."""
    work = {}
    for dtype in (np.int16, np.int32):
        args = (np.zeros(4 * COUNT, dtype), np.zeros(COUNT, dtype))
        signature = Signature.from_arguments(accumulated_bits, args)
        compiled = ct.compile(accumulated_bits, target="sm_100a", signature=signature, stop="gpu")
        (cost,) = kernel_costs(compiled.stage("gpu").value, compiled.target)
        (loop,) = (loop for loop in cost.loops if loop.work.depth == 0)
        work[dtype] = loop.work.step.alu
    assert work[np.int32] - work[np.int16] == 5 * COUNT / 2
