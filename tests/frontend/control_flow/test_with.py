"""`with` and the context managers that `contextlib.contextmanager` makes of generators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


def log(out, value):
    """Appends a value; element 0 counts them."""
    position = ct.gather(out, 0) + 1
    ct.scatter(out, 0, position)
    ct.scatter(out, position, value)


@contextmanager
def logged(out, enter, leave=9):
    log(out, enter)
    yield enter * 10
    log(out, leave)


@contextmanager
def twice(out, value):
    with logged(out, value, value + 1) as ten:
        yield ten
        log(out, ten)


def run(interpret: Interpret, kernel: Any, *arguments: Any) -> list[int]:
    out = np.zeros(32, np.int32)
    interpret(kernel, 1, out, *arguments)
    return out[1 : 1 + out[0]].tolist()


def test_statements_around_the_yield_run_at_entry_and_exit(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        with logged(out, 1) as value, twice(out, 3) as other:
            log(out, value + other)
        log(out, 7)

    assert run(interpret, kernel) == [1, 3, 40, 30, 4, 9, 7]


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_jumps_leave_the_contexts_inside_of_the_loop(interpret: Interpret, stop: int) -> None:
    @ct.kernel
    def kernel(out, stop):
        with logged(out, 100, 200):
            for i in range(3):
                with logged(out, 10 + i, 20 + i), logged(out, 30 + i, 40 + i):
                    if i == stop:
                        break
                    if i == 1:
                        continue
                    log(out, i)

    expected = [100]
    for i in range(3):
        expected += [10 + i, 30 + i]
        if i not in (stop, 1):
            expected.append(i)
        expected += [40 + i, 20 + i]
        if i == stop:
            break
    assert run(interpret, kernel, stop) == [*expected, 200]


@pytest.mark.parametrize("n", [0, 4])
def test_return_leaves_all_contexts_of_the_function(interpret: Interpret, n: int) -> None:
    def function(out, n):
        with logged(out, 1, 2):
            with logged(out, 3, 4) as value:
                if n > 2:
                    return value + n
            log(out, 5)
        return n

    @ct.kernel
    def kernel(out, n):
        with logged(out, 6, 7):
            log(out, function(out, n))
            if n > 2:
                return
        log(out, 8)

    inner = [1, 3, 4, 2] if n > 2 else [1, 3, 4, 5, 2]
    assert run(interpret, kernel, n) == [6, *inner, n + 30 if n > 2 else n, 7, *([] if n > 2 else [8])]


def test_function_of_a_context_reads_the_names_of_the_generator(interpret: Interpret) -> None:
    @contextmanager
    def counting(out, n):
        def show():
            log(out, n)

        yield show
        n += 1

    @ct.kernel
    def kernel(out):
        with counting(out, ct.bid(0) + 5) as show:
            show()
        show()

    assert run(interpret, kernel) == [5, 6]


@contextmanager
def never(out):
    log(out, 1)


@contextmanager
def two(out):
    yield
    yield


@contextmanager
def conditional(out):
    if ct.bid(0) == 0:
        yield


@contextmanager
def returning(out):
    if ct.bid(0) == 0:
        return
    yield


@pytest.mark.parametrize(
    ("manager", "kind", "problem"),
    [
        (never, ct.TileTypeError, "the context manager 'never' has no 'yield' that it reaches"),
        (two, ct.TileTypeError, "the context manager 'two' must have one 'yield', it has 2"),
        (conditional, ct.TileTypeError, "'yield' of the context manager 'conditional' must be outside of loops"),
        (returning, ct.TileSyntaxError, "the generator 'returning' of a context manager cannot return"),
        (log, ct.TileTypeError, "'with' takes a function that is decorated with contextlib.contextmanager, got None"),
    ],
)
def test_context_managers_that_kernels_do_not_support(manager: Any, kind: type, problem: str) -> None:
    @ct.kernel
    def kernel(out):
        with manager(out, 1) if manager is log else manager(out):
            log(out, 2)

    with pytest.raises(kind, match=f"test_with.py:.*{problem}"):
        ct.launch(None, 1, kernel, (np.zeros(32, np.int32),), backend="interpret")
