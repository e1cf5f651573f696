"""Exceptions of Python expressions that run at compile time have the classes of cuTile."""

from __future__ import annotations

import math

import pytest

import tilec as ct


@ct.kernel
def evaluates(n: ct.Constant[int]):
    ct.static_eval(1 // n)


@ct.kernel
def asserts(n: ct.Constant[int]):
    ct.static_assert(math.sqrt(n - 1) > 0)


@ct.kernel
def iterates(n: ct.Constant[int]):
    for _ in ct.static_iter(range(4 // n)):
        pass


@pytest.mark.parametrize(
    ("kernel", "problem"),
    [(evaluates, "ZeroDivisionError"), (asserts, "ValueError"), (iterates, "ZeroDivisionError")],
)
def test_exception_of_a_compile_time_expression_is_a_static_exception(kernel: ct.Kernel, problem: str) -> None:
    with pytest.raises(ct.StaticException, match=f"^.*test_static_errors.py:.*raised {problem}: "):
        ct.launch(None, 1, kernel, (0,), backend="interpret")


@ct.kernel
def divides(n: ct.Constant[int]):
    ct.ensure_constant(1 // n)


def test_exception_outside_of_compile_time_expressions_is_a_value_error() -> None:
    with pytest.raises(ct.TileValueError):
        ct.launch(None, 1, divides, (0,), backend="interpret")


@ct.kernel
def evaluates_block():
    ct.static_eval(ct.bid(0))


def test_static_eval_of_a_run_time_value_is_an_evaluation_error() -> None:
    with pytest.raises(ct.TileStaticEvalError, match="'ct.bid' cannot be called inside 'ct.static_eval'"):
        ct.launch(None, 1, evaluates_block, (), backend="interpret")
