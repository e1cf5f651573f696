"""Results of a loop with breaks have the registers of its carried values, which nothing reads after a break."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature


@ct.kernel
def power(A, V, W, STEPS, tolerance: float, most: int):
    """A^n v until v changes little, or for a number of steps."""
    a, v = ct.load(A, (0, 0), (32, 32)), ct.load(V, (0, 0), (32, 32))
    change, step = 1e9, 0
    while change > tolerance:
        w = ct.mma(a, v.astype(ct.float16), ct.zeros((32, 32), ct.float32))
        change = ct.max(ct.abs(w - v))
        v = w
        step += 1
        if step >= most:
            break
    ct.store(W, (0, 0), v)
    ct.scatter(STEPS, 0, step)


@ct.kernel
def exchanged(X, Y, A, B, first: int, second: int):
    """One break exchanges two tiles, one adds them, one leaves both."""
    a, b, k = ct.load(X, (0,), (64,)), ct.load(Y, (0,), (64,)), 0
    while k < 6:
        if k == first:
            a, b = b, a
            break
        if k == second:
            a = a + b
            break
        a, b = a + b, a
        k += 1
    ct.store(A, (0,), a)
    ct.store(B, (0,), b)


@ct.kernel
def former(X, A, B, first: int, second: int):
    """Both results are the present tile or the former one, and both are stored."""
    a, before, k = ct.load(X, (0,), (64,)), ct.zeros((64,), ct.int32), 0
    while True:
        before, a = a, a * 3 + k
        k += 1
        if k == first:
            before = a
            break
        if k >= second:
            break
    ct.store(A, (0,), a)
    ct.store(B, (0,), before)


def carried(kernel: Any, given: tuple[Any, ...], target: str) -> list[str]:
    """The types of the tiles that the while loop carries."""
    signature = Signature.from_arguments(kernel, given)
    text = ct.compile(kernel, target=target, signature=signature, stop="gpu-raw").stage("gpu-raw").text
    types = re.search(r"scf\.while .*?:\s*\((.*?)\)\s*->", text, re.DOTALL)
    assert types is not None
    return re.findall(r"!tile\w*", types[1])


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("tolerance", [0.0, 1000.0, 1e10])
def test_one_tile_is_carried(tolerance: float, most: int, target: str, random: np.random.Generator) -> None:
    a, v = random.integers(-1, 2, (32, 32)).astype(np.float16), random.integers(-2, 3, (32, 32)).astype(np.float32)
    a *= random.random((32, 32)) < 0.1
    given = (a, v, np.zeros((32, 32), np.float32), np.zeros(1, np.int32), tolerance, most)
    change, step, exact = 1e9, 0, v.astype(np.float64)
    while change > tolerance and step < most:
        following = a.astype(np.float64) @ exact
        change, exact, step = np.abs(following - exact).max(), following, step + 1
    for found, steps in run_everywhere(power, (1,), given, (2, 3), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)
        assert steps[0] == step
    assert len(carried(power, given, target)) == 1


@pytest.mark.parametrize(("first", "second"), [(0, 9), (3, 9), (9, 0), (9, 4), (9, 9), (2, 2)])
def test_exchanged_tiles(first: int, second: int, target: str, random: np.random.Generator) -> None:
    a, b = x, y = random.integers(-9, 9, (2, 64)).astype(np.int32)
    for k in range(6):
        if k in (first, second):
            a, b = (b, a) if k == first else (a + b, b)
            break
        a, b = a + b, a
    given = (x, y, np.zeros(64, np.int32), np.zeros(64, np.int32), first, second)
    for found in run_everywhere(exchanged, (1,), given, (2, 3), target=target, hints={}):
        np.testing.assert_array_equal(found, [a, b])


@pytest.mark.parametrize(("first", "second"), [(1, 9), (3, 9), (9, 1), (9, 4)])
def test_former_tiles(first: int, second: int, target: str, random: np.random.Generator) -> None:
    a = x = random.integers(-9, 9, 64).astype(np.int32)
    for k in range(9):
        before, a = a, a * 3 + k
        if k + 1 == first:
            before = a
        if k + 1 in (first, second):
            break
    given = (x, np.zeros(64, np.int32), np.zeros(64, np.int32), first, second)
    for found in run_everywhere(former, (1,), given, (1, 2), target=target, hints={}):
        np.testing.assert_array_equal(found, [a, before])
