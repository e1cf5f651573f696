"""Functions defined in a kernel or a called function read the latest values of outer names, as in Python.

Each function below yields a number. The kernel must compute what Python computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


def returned_early(n):
    def make():
        value = 1
        read = lambda: value  # noqa: E731
        if n > 0:
            value = 2
            return read
        value = 3
        return read

    return make()()


def returned_from_a_loop(n):
    def make():
        i = 0
        read = lambda: i  # noqa: E731
        while i < 10:
            if i * i > n:
                return read
            i += 1
        return read

    return make()()


def reads_two_ended_calls(n):
    def make(value):
        def inner(second):
            return lambda: value * 10 + second

        return inner(value + 1)

    read = make(1) if n > 0 else make(2)
    return read()


def returned_early_from_the_outer_call(n):
    def make():
        value = 1

        def inner():
            second = 5
            return lambda: value * 10 + second

        read = inner()
        if n > 0:
            value = 2
            return read
        value = 3
        return read

    return make()()


def calls_itself(n):
    def make():
        value = 1

        def read(depth):
            return value if depth == 0 else read(depth - 1)

        if n > 0:
            value = 2
            return read
        value = 3
        return read

    return make()(2)


def call_each_other(n):
    def make():
        def even(depth):
            return n if depth == 0 else odd(depth - 1)

        def odd(depth):
            return n + 1 if depth == 0 else even(depth - 1)

        return even

    return make()(3)


def carried_with_the_function_that_it_calls(n):
    def make(value):
        def read():
            return value + double()

        def double():
            return value * 2

        return read

    read = make(1)
    for i in range(n):
        read = make(read() + i)
    return read()


def defined_in_a_comprehension(n):
    def make():
        value = 1
        functions = tuple((lambda digit=digit: value * 10 + digit) for digit in ct.static_iter(range(2)))
        if n > 0:
            value = 2
            return functions
        value = 3
        return functions

    first, second = make()
    return first() * 100 + second()


def called_in_a_loop(n):
    value, total = 0, 0
    read = lambda: value  # noqa: E731
    for i in range(3):
        total = total * 10 + read()
        if n > 0:
            value = i + 1
    return total


def called_after_a_loop(n):
    value = 0
    read = lambda: value  # noqa: E731
    for i in range(n):
        value = i + 5
    return read()


def called_after_a_branch(n):
    value = other = 0
    if n > 0:
        value = 5
    read = lambda: value  # noqa: E731
    if n > 1:
        value = 9
    else:
        other = 4
    return read() * 10 + other


def condition_of_a_break(n):
    value = 1
    read = lambda: value  # noqa: E731
    while value < 20:
        value = value * 3
        if read() > n * 5:
            break
    return read()


FUNCTIONS = [
    returned_early,
    returned_from_a_loop,
    reads_two_ended_calls,
    returned_early_from_the_outer_call,
    calls_itself,
    call_each_other,
    carried_with_the_function_that_it_calls,
    defined_in_a_comprehension,
    called_in_a_loop,
    called_after_a_loop,
    called_after_a_branch,
    condition_of_a_break,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_result_is_that_of_python(
    function: Callable[[int], int], interpret: Interpret, monkeypatch: pytest.MonkeyPatch
) -> None:
    @ct.kernel
    def kernel(out, n: int):
        ct.store(out, 0, ct.full(1, function(n), ct.int32))

    results = []
    for n in range(3):
        out = np.zeros(1, np.int32)
        interpret(kernel, 1, out, n)
        results.append(int(out[0]))
    monkeypatch.setattr(ct, "static_iter", iter)
    assert results == [function(n) for n in range(3)]


def test_function_keeps_a_tile(interpret: Interpret) -> None:
    def keep(tile: Any) -> Any:
        return lambda: tile

    @ct.kernel
    def kernel(x, n: int):
        read = keep(ct.load(x, 0, 4))
        ct.store(x, 0, read() + 1)
        if n > 0:
            read = keep(ct.load(x, 0, 4) * 2)
        ct.store(x, 0, read())

    for n in range(2):
        x = np.arange(4, dtype=np.int32)
        interpret(kernel, 1, x, n)
        np.testing.assert_array_equal(x, (np.arange(4) + 1) * 2 if n else np.arange(4))


def test_loop_that_changes_the_type_of_a_captured_name_is_refused(error_message: Callable[[Any, str], str]) -> None:
    """As in cuTile Python, although each iteration assigns the name before the function reads it."""

    def kernel(out, n):
        total, scale = 0.0, 1
        for _ in range(n):
            scale = 2.5
            read = lambda: scale  # noqa: B023, E731
            total += read()
        ct.store(out, 0, total)

    assert "'scale' changes from iteration to iteration" in error_message(kernel, "out: f32[?], n: i32")
