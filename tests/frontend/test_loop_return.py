"""`return` inside `while` of called functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

BACKENDS = pytest.mark.parametrize(
    "options",
    [
        {"backend": "interpret"},
        {"backend": "simulate", "target": "sm_100a"},
        {"backend": "simulate", "target": "sm_90a"},
    ],
    ids=["interpret", "sm_100a", "sm_90a"],
)


def first_power_above(n, base=2):
    power, count = 1, 0
    while True:
        power, count = power * base, count + 1
        if power > n:
            return power, count


def collatz(n, most):
    steps = 0
    while steps < most:
        while n % 2 == 0:
            n = n // 2
            steps += 1
            if n == 1:
                return steps
        n = 3 * n + 1
        steps += 1
    return -1


@BACKENDS
def test_return_inside_while(options: dict[str, Any]) -> None:
    @ct.kernel
    def kernel(x, out, most):
        i = ct.bid(0)
        n = ct.gather(x, i)
        power, count = first_power_above(n)
        ct.scatter(out, (i, 0), power)
        ct.scatter(out, (i, 1), count)
        ct.scatter(out, (i, 2), collatz(n, most))

    x = np.array([2, 6, 7, 27], np.int32)
    out = np.zeros((4, 3), np.int32)
    ct.launch(None, 4, kernel, (x, out, 20), **options)
    assert out.tolist() == [[*first_power_above(int(n)), collatz(int(n), 20)] for n in x]


def test_returned_values_of_different_types_are_refused(error_message: Callable[[Any, str], str]) -> None:
    def function(n):
        while True:
            if n > 3:
                return 1.5
            n += 1
            if n > 2:
                return (n, n)

    def kernel(n):
        function(n)

    assert "the values that a function returns are incompatible" in error_message(kernel, "n: i32")
