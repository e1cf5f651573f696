"""float8_e5m3fnu: conversions agree with its definition in the interpreter and in the simulator.

The type has 5 bits of exponent (bias 15), 3 bits of fraction, no sign, subnormal numbers, and NaN as code 255.
"""

from __future__ import annotations

import numpy as np
from compare import run_everywhere

import tilec as ct


def value_of(code: int) -> float:
    exponent, fraction = code >> 3, code & 7
    if code == 255:
        return np.nan
    return fraction / 8 * 2.0**-14 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 15)


@ct.kernel
def decoded(codes, single, half):
    x = ct.unpack_from_bytes(ct.load(codes, 0, 256), ct.float8_e5m3fnu)
    ct.store(single, 0, x.astype(ct.float32))
    ct.store(half, 0, x.astype(ct.float16))


def test_every_code(target):
    codes = np.arange(256, dtype=np.uint8)
    exact = np.array([value_of(code) for code in range(256)])
    args = (codes, np.zeros(256, np.float32), np.zeros(256, np.float16))
    for single, half in run_everywhere(decoded, (1,), args, (1, 2), target=target, hints={}):
        assert np.array_equal(single, exact.astype(np.float32), equal_nan=True)
        with np.errstate(over="ignore"):
            assert np.array_equal(half, exact.astype(np.float16), equal_nan=True)


@ct.kernel
def encoded(x, codes, size: ct.Constant[int]):
    ct.store(codes, 0, ct.pack_to_bytes(ct.load(x, 0, size).astype(ct.float8_e5m3fnu)))


def test_numbers_are_rounded_to_the_nearest_code(target):
    """Each number between two codes becomes the nearest, a tie the even code."""
    values = np.array([value_of(code) for code in range(255)])
    below = values[:-1] + 0.25 * np.diff(values)
    ties = values[:-1] + 0.5 * np.diff(values)
    x = np.concatenate([values, [0], below, [0], ties, [0]])[:512].astype(np.float32)
    even = np.arange(254) + (np.arange(254) & 1)
    exact = np.concatenate([np.arange(255), [0], np.arange(254), [0], even, [0]])[:512]
    for (codes,) in run_everywhere(encoded, (1,), (x, np.zeros(512, np.uint8), 512), (1,), target=target, hints={}):
        assert np.array_equal(codes, exact)


@ct.kernel
def constants(y):
    ct.store(y, 0, ct.full(4, 1.5, ct.float8_e5m3fnu).astype(ct.float32))


def test_constant(target):
    for (y,) in run_everywhere(constants, (1,), (np.zeros(4, np.float32),), (0,), target=target, hints={}):
        assert np.array_equal(y, np.full(4, 1.5))
