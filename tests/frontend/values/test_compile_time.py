"""Python code that runs at compile time, in the arguments of `ct.static_eval` and its relatives."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


class Mode(enum.Enum):
    SUM = "sum"
    PRODUCT = "product"


FUNCTIONS = {Mode.SUM: operator.add, Mode.PRODUCT: operator.mul}
SIZES = {ct.float32: [4, 8], ct.int32: [2]}


class Steps:
    """An ordinary class: kernels read it at compile time only."""

    def __init__(self, count: int) -> None:
        self.count = count

    def doubled(self) -> list[int]:
        return [2 * step for step in range(self.count)]


@pytest.mark.parametrize("mode", Mode)
def test_static_eval_runs_ordinary_python(interpret: Interpret, mode: Mode) -> None:
    steps = Steps(3)

    @ct.kernel
    def kernel(x, out):
        function = ct.static_eval(FUNCTIONS[mode])
        size = ct.static_eval(max(SIZES[x.dtype]) // len(steps.doubled()))
        ct.store(out, 0, function(ct.load(x, 0, (8,)), 3) + size)

    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    interpret(kernel, 1, x, out)
    np.testing.assert_array_equal(out, {Mode.SUM: x + 3, Mode.PRODUCT: x * 3}[mode] + 2)


def test_static_eval_selects_a_value_of_run_time(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x, out, n: ct.Constant[int]):
        tiles = tuple(ct.gather(x, i) for i in ct.static_iter(range(3)))
        ct.scatter(out, 0, ct.static_eval(tiles[n] if n < len(tiles) else tiles[-1] * 100))

    x = np.array([5, 6, 7], np.int32)
    for n, expected in ((0, 5), (1, 6), (9, 700)):
        out = np.zeros(1, np.int32)
        interpret(kernel, 1, x, out, n)
        assert out[0] == expected


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "mod", "lt", "ge", "eq", "ne", "and_", "or_", "xor"])
def test_operators_of_run_time_values_at_compile_time(interpret: Interpret, name: str) -> None:
    function = getattr(operator, name)

    @ct.kernel
    def kernel(x, out):
        a, b = ct.gather(x, 0), ct.gather(x, 1)
        ct.scatter(out, 0, ct.astype(ct.static_eval(function(a, b)), ct.int32))
        ct.scatter(out, 1, ct.astype(function(a, 3), ct.int32))
        ct.scatter(out, 2, ct.astype(ct.static_eval(function(9, b)), ct.int32))

    out = np.zeros(3, np.int32)
    interpret(kernel, 1, np.array([15, 4], np.int32), out)
    assert out.tolist() == [function(15, 4), function(15, 3), function(9, 4)]


def test_static_iter_takes_any_iterable(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        position = 0
        for i, (name, value) in ct.static_iter(enumerate(sorted({"b": 20, "a": 10}.items()), 1)):
            ct.scatter(out, position, value + i + ct.static_eval(ord(name)))
            position += 1
        for value, flag in ct.static_iter(zip((1, 2), reversed([True, False]), strict=True)):
            ct.scatter(out, position, value if flag else -value)
            position += 1

    out = np.zeros(4, np.int32)
    interpret(kernel, 1, out)
    assert out.tolist() == [10 + 1 + ord("a"), 20 + 2 + ord("b"), -1, 2]


def test_comprehension_has_its_own_names(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        i = 50
        pairs = tuple((i, j) for i in ct.static_iter(range(3)) if i != 1 for j in ct.static_iter(range(i + 1)))
        functions = tuple(lambda: i for i in ct.static_iter(range(3)))  # noqa: B023
        for k, (first, second) in ct.static_iter(enumerate(pairs)):
            ct.scatter(out, k, 10 * first + second)
        ct.scatter(out, 4, i)
        ct.scatter(out, 5, functions[0]())

    out = np.zeros(6, np.int32)
    interpret(kernel, 1, out)
    assert out.tolist() == [0, 20, 21, 22, 50, 2]


def test_typed_constants_are_numbers_of_python_at_compile_time(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x):
        n = ct.int16(5)
        ct.static_assert(isinstance(n, int) and [10, 20, 30, 40, 50, 60][n] == 60)
        ct.static_assert(ct.uint8(250) + ct.uint8(10) == 4)
        ct.store(x, 0, ct.load(x, 0, (4,)) + ct.static_eval(n * 1000))

    x = np.zeros(4, np.int8)
    with pytest.raises(ct.TileValueError, match="5000 is out of range of int8"):
        interpret(kernel, 1, x)


def test_symbols_are_instances_of_the_classes_of_the_language(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x):
        tile = ct.load(x, 0, (4,))
        ct.static_assert(isinstance(tile, ct.Tile) and isinstance(x, ct.Array) and not isinstance(x, ct.Tile))
        ct.static_assert(tile.shape == (4,) and x.dtype is ct.int8 and not hasattr(tile, "width"))

    interpret(kernel, 1, np.zeros(4, np.int8))


def test_static_exception_keeps_its_cause() -> None:
    @ct.kernel
    def kernel(n: ct.Constant[int]):
        if n % 4:
            raise ct.static_exception(KeyError(f"{n} is not a multiple of 4"))

    ct.launch(None, 1, kernel, (8,), backend="interpret")
    with pytest.raises(ct.StaticException, match="KeyError: '6 is not a multiple of 4'"):
        ct.launch(None, 1, kernel, (6,), backend="interpret")


def test_message_of_an_assertion_is_evaluated_if_it_fails(interpret: Interpret) -> None:
    seen: list[Any] = []

    @ct.kernel
    def kernel(x, n: ct.Constant[int]):
        ct.static_assert(n > 2, seen.append(repr(x)))

    interpret(kernel, 1, np.zeros((4, 2), np.int8), 3)
    assert seen == []
    with pytest.raises(ct.TileStaticAssertionError):
        interpret(kernel, 1, np.zeros((4, 2), np.int8), 1)
    assert seen == ["<array[int8, (?, ?)]>"]
