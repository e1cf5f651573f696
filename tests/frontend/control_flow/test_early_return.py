"""`return` in branches of called functions: each statement is traced once, and the values are those of Python."""

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


def both_branches_continue(n):
    if n > 1:
        if n == 3:
            return 30
        n = n * 2
    else:
        if n == 0:
            return -1
        n = n + 50
    return n + 1


def several_in_a_row(n):
    if n > 0:
        if n == 1:
            return n + 100
        n = n - 1
    if n > 1:
        if n == 2:
            return n + 200
        n = n - 1
    return n


def around_loops(n):
    total = 0
    if n > 1:
        for i in range(n):
            total += i
            if total > 4:
                return total * 10
        total += 1
    elif n == 1:
        while total < 3:
            total += 2
            if total == 2:
                return 7
    return total


def tuple_or_nothing(n):
    def pair(n):
        if n > 2:
            if n == 3:
                return n, "three"
            n = n + 1
        return n * 2, "three"

    first, text = pair(n)
    return first + (10 if text == "three" else 0)


FUNCTIONS = [both_branches_continue, several_in_a_row, around_loops, tuple_or_nothing]


@ct.kernel
def apply(out):
    n = ct.bid(0)
    for number, function in ct.static_iter(enumerate(FUNCTIONS)):
        ct.store(out, (n, number), ct.full((1, 1), function(n), ct.int32))


@BACKENDS
def test_values_are_those_of_python(options: dict[str, Any]) -> None:
    out = np.zeros((6, len(FUNCTIONS)), np.int32)
    ct.launch(None, 6, apply, (out,), **options)
    assert out.tolist() == [[function(n) for function in FUNCTIONS] for n in range(6)]


@ct.kernel
def with_1(out):
    def function(n):
        if n > 10:
            if n == 15:
                return 1
            n = n + 1
        return n

    ct.store(out, 0, function(ct.bid(0)))


@ct.kernel
def with_2(out):
    def function(n):
        if n > 10:
            if n == 15:
                return 1
            n = n + 1
        if n > 20:
            if n == 25:
                return 2
            n = n + 2
        return n

    ct.store(out, 0, function(ct.bid(0)))


@ct.kernel
def with_4(out):
    def function(n):
        if n > 10:
            if n == 15:
                return 1
            n = n + 1
        if n > 20:
            if n == 25:
                return 2
            n = n + 2
        if n > 30:
            if n == 35:
                return 3
            n = n + 3
        if n > 40:
            if n == 45:
                return 4
            n = n + 4
        return n

    ct.store(out, 0, function(ct.bid(0)))


def test_code_is_linear_in_the_number_of_returns(tile_text: Callable[[Any, str], str]) -> None:
    one, two, four = (tile_text(kernel, "out: i32[?]").count("\n") for kernel in (with_1, with_2, with_4))
    assert four - two == 2 * (two - one)


def test_constant_condition_selects_one_branch(tile_text: Callable[[Any, str], str]) -> None:
    def function(n, known):
        if known:
            if n is None:
                return 1
            n = n + 1
        else:
            if n is None:
                return 2
            n = n + 2
        return n

    @ct.kernel
    def kernel(out):
        ct.store(out, 0, function(ct.bid(0), True))

    text = tile_text(kernel, "out: i32[?]")
    assert " if " not in text
    assert " loop " not in text


def test_equal_constants_stay_constant(tile_text: Callable[[Any, str], str]) -> None:
    def function(n):
        if n > 2:
            if n == 3:
                return 8
            n = n + 1
        return 8

    @ct.kernel
    def kernel(out):
        size = function(ct.bid(0))
        ct.store(out, 0, ct.zeros(size, ct.int32))

    assert "tile<8xi32>" in tile_text(kernel, "out: i32[?]")


@pytest.mark.parametrize("other", [1.5, None, (1, 2), "text"])
def test_unlike_values_are_refused(other: object, error_message: Callable[[Any, str], str]) -> None:
    def function(n):
        if n > 2:
            if n == 3:
                return n
            n = n + 1
        return other

    def kernel(n):
        function(n)

    assert "the values that a function returns are incompatible: an int32 scalar and" in error_message(kernel, "n: i32")
