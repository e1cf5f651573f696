"""Operands of `and`, `or`, chained comparisons and conditional expressions are evaluated only if Python evaluates them.

Cell 0 of each block counts the calls of `count`; cell 1 has the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]
Count = Callable[[Any], Any]


def chained_comparison(n, count):
    return 1 < n < count(3) < count(4) < 0


def chained_comparison_of_constants(n, count):
    return 2 < 1 < count(n)


def chained_or(n, count):
    return n > 3 or count(n) == 1 or count(n) == 2


def divisor_is_zero(n, count):
    return (10 // n > 4 if n != 0 else False) or n != 0 and 7 % n == 1


def shift_is_too_wide(n, count):
    return n < 3 and (1 << (n * 14)) > 1


def special_method(n, count):
    return n > 2 and Counted(count) < n


def attribute(n, count):
    return Counted(count).value if n > 2 else 0


def assigned_in_a_condition(n, count):
    m = 1
    if n > 1 and (m := n * 3) > 6:
        m = m + 1
    return m


def assigned_by_a_call(n, count):
    m = 1
    x = (m := count(n)) + 1 if n > 2 else 5
    return m * 10 + x


def assigned_in_the_condition_of_a_loop(n, count):
    m = k = 0
    while k < n and (m := m + k) < 4:
        k += 1
    return m * 10 + k


@dataclass(frozen=True)
class Counted:
    count: Count

    @property
    def value(self):
        return self.count(7)

    def __lt__(self, other):
        return self.count(1) < other


FUNCTIONS = [
    chained_comparison,
    chained_comparison_of_constants,
    chained_or,
    divisor_is_zero,
    shift_is_too_wide,
    special_method,
    attribute,
    assigned_in_a_condition,
    assigned_by_a_call,
    assigned_in_the_condition_of_a_loop,
]


@ct.kernel
def apply(out):
    n = ct.bid(0)
    for number, function in ct.static_iter(enumerate(FUNCTIONS)):

        def count(value, number=number):
            ct.atomic_add(out, (n, number, 0), 1)
            return value

        ct.scatter(out, (n, number, 1), ct.astype(function(n, count), ct.int32))


def in_python(function: Callable[..., Any], n: int) -> list[int]:
    calls = []
    return [int(function(n, lambda value: calls.append(value) or value)), len(calls)][::-1]


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_operands_are_evaluated_as_in_python(backend: str) -> None:
    out = np.zeros((6, len(FUNCTIONS), 2), np.int32)
    checks = {"check": True} if backend == "interpret" else {}
    ct.launch(None, 6, apply, (out,), backend=backend, **checks)
    for number, function in enumerate(FUNCTIONS):
        expected = [in_python(function, n) for n in range(6)]
        assert out[:, number].tolist() == expected, function.__name__


def test_operands_that_only_compute_need_no_branch(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(out, n):
        selected = n + 1 if 2 < n < 9 or n % 4 == 1 else n // 3
        ct.store(out, 0, selected)

    text = tile_text(kernel, "out: i32[?], n: i32")
    assert " if " not in text
    assert "select " in text


def test_name_assigned_in_one_operand_only(error_message: Callable[[Any, str], str]) -> None:
    def kernel(out, n):
        if n > 1 and (m := n * 3) > 6:
            pass
        ct.store(out, 0, m)

    message = error_message(kernel, "out: i32[?], n: i32")
    assert "'m' is assigned in one branch only" in message
    assert "by this condition" in message
