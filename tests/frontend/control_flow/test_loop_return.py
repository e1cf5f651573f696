"""`return` inside loops of called functions and of kernels, and the counter of a `for` after it."""

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


def first_square_above(n):
    for i in range(5):
        for j in range(i + 1):
            if i * j > n:
                return i, j
    return -1, -1


@BACKENDS
def test_return_inside_for(options: dict[str, Any]) -> None:
    @ct.kernel
    def kernel(out):
        n = ct.bid(0)
        i, j = first_square_above(n)
        ct.scatter(out, (n, 0), i)
        ct.scatter(out, (n, 1), j)

    out = np.zeros((20, 2), np.int32)
    ct.launch(None, 20, kernel, (out,), **options)
    assert out.tolist() == [list(first_square_above(n)) for n in range(20)]


@BACKENDS
def test_kernel_returns_inside_for(options: dict[str, Any]) -> None:
    @ct.kernel
    def kernel(out):
        n = ct.bid(0)
        total = 0
        for i in range(5):
            j = 0
            while j < 4:
                if i * j > n:
                    ct.store(out, n, i * 10 + j)
                    return
                j += 1
            if n == 5 and i == 3:
                break
            total += i
        ct.store(out, n, 100 + total)

    def expected(n: int) -> int:
        total = 0
        for i in range(5):
            for j in range(4):
                if i * j > n:
                    return i * 10 + j
            if n == 5 and i == 3:
                break
            total += i
        return 100 + total

    out = np.zeros(14, np.int32)
    ct.launch(None, 14, kernel, (out,), **options)
    assert out.tolist() == [expected(n) for n in range(14)]


def counters(n):
    i = j = total = 100
    for i in range(n):
        total += i
    for j in range(5):
        if j == n:
            break
        j += 10
    return total + i * 1000 + j


@BACKENDS
def test_counter_after_its_loop(options: dict[str, Any]) -> None:
    @ct.kernel
    def kernel(out):
        n = ct.bid(0)
        ct.store(out, n, counters(n))

    out = np.zeros(7, np.int32)
    ct.launch(None, 7, kernel, (out,), **options)
    assert out.tolist() == [counters(n) for n in range(7)]


def assigned_in_a_branch(n):
    total = 1
    for i in range(n):
        total = total + i
        if n < total:
            total = 0
        if i == 2:
            return 7
        total = i
    return total + n


def assigned_in_the_inner_loop(n):
    total, k = 1, 0
    while k < n:
        for i in range(k):
            if total < 4:
                total = 2 * i
            if i + k == 4:
                return -k
            total = k - i
        k = k + 1
        total = total + k
    return total


def assigned_before_a_return(n):
    for i in range(n):
        if i == 1:
            last = n + i
            return last
        last = i
    last = n
    return last


@BACKENDS
@pytest.mark.parametrize("function", [assigned_in_a_branch, assigned_in_the_inner_loop, assigned_before_a_return])
def test_names_that_a_return_does_not_need(function: Callable[[int], int], options: dict[str, Any]) -> None:
    """Nothing reads them after the branch, unless the loop ends without the `return`."""

    @ct.kernel
    def kernel(out):
        ct.scatter(out, ct.bid(0), function(ct.bid(0)))

    out = np.zeros(7, np.int32)
    ct.launch(None, 7, kernel, (out,), **options)
    assert out.tolist() == [function(n) for n in range(7)]


@BACKENDS
def test_name_of_another_type_at_a_return(options: dict[str, Any]) -> None:
    def sum_or_limit(x, n):
        row = ct.load(x, (0,), (4,))
        for i in range(n):
            if i == 2:
                row = i + n
                return row
            row = row + ct.load(x, (i,), (4,))
        return ct.sum(row)

    @ct.kernel
    def kernel(x, out):
        ct.scatter(out, ct.bid(0), sum_or_limit(x, ct.bid(0)))

    x, out = np.arange(8, dtype=np.int32), np.zeros(5, np.int32)
    ct.launch(None, 5, kernel, (x, out), **options)
    assert out.tolist() == [6, 12, 34, 5, 6]


def row_of(x, n):
    for i in range(2):
        if i == n:
            return x.slice(0, i + 1, i + 2), "early"
    if n > 2:
        return x.slice(0, 0, 1), "early"
    return x.slice(0, 3, 4), "early"


@BACKENDS
def test_array_is_returned_from_a_loop(options: dict[str, Any]) -> None:
    @ct.kernel
    def kernel(x):
        n = ct.bid(0)
        row, text = row_of(x, n)
        ct.store(row, 0, n + (10 if text == "early" else 0))

    x = np.zeros(4, np.int32)
    ct.launch(None, 4, kernel, (x,), **options)
    assert x.tolist() == [13, 10, 11, 12]


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
