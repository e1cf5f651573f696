"""Dataclasses, dictionaries and tuples as values of kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 5

    SCALE = 10

    def dot(self, other):
        return self.x * other.x + self.y * other.y

    @property
    def total(self):
        return (self.x + self.y) * self.SCALE

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y) if isinstance_of_point(other) else NotImplemented

    def __radd__(self, number):
        return Point(number + self.x, self.y)

    def __getitem__(self, axis):
        return (self.x, self.y)[axis]

    def __call__(self, factor):
        return self.x * factor

    @staticmethod
    def origin():
        return Point(0, 0)

    @classmethod
    def diagonal(cls, value):
        return cls(value, value)


def isinstance_of_point(value):
    return ct.static_eval(isinstance(value, Point))


CORNER = Point(3, y=4)


def test_fields_methods_and_operators(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x, out):
        point = Point(ct.gather(x, 0))
        values = (
            *(point.dot(CORNER), point.total, (point + CORNER).x, (2 + point).x, point[1], point(7)),
            *(Point.origin().y, Point.diagonal(9).y, Point.SCALE, dataclasses.replace(point, y=1).total),
        )
        for i, value in ct.static_iter(enumerate(values)):
            ct.scatter(out, i, value)

    out = np.zeros(10, np.int32)
    interpret(kernel, 1, np.array([6], np.int32), out)
    assert out.tolist() == [6 * 3 + 5 * 4, 110, 9, 8, 5, 42, 0, 9, 10, 70]


@pytest.mark.parametrize("n", [0, 3])
def test_records_are_carried_by_loops_and_merged_by_branches(interpret: Interpret, n: int) -> None:
    @ct.kernel
    def kernel(out, n):
        point, options = Point(1, (10, 100)), dict_of(size=2, tail=0)
        for i in range(n):
            point = dataclasses.replace(point, x=point.x + i, y=(point.y[0] + 1, point.y[1]))
            options = dict_of(size=options["size"] * 2, tail=i)
        if n > 1:
            point = Point(point.x + 1000, point.y)
        ct.scatter(out, 0, point.x)
        ct.scatter(out, 1, point.y[0])
        ct.scatter(out, 2, options["size"])
        ct.scatter(out, 3, options.get("missing", 8))

    out = np.zeros(4, np.int32)
    interpret(kernel, 1, out, n)
    assert out.tolist() == [1 + sum(range(n)) + (1000 if n > 1 else 0), 10 + n, 2 << n, 8]


def dict_of(**options):
    return options


def test_equality_is_that_of_the_elements(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        i = ct.bid(0)
        equal = Point(i, (2, i)) == Point(1, (2, 1))
        ct.scatter(out, (i, 0), equal)
        ct.scatter(out, (i, 1), (i, 1) in ((0, 1), (2, 1)))
        ct.scatter(out, (i, 2), i not in (0, 3))
        texts = "foo" > "bar", "foo" <= "bar", "foo" == "foo"
        ct.static_assert(texts == (True, False, True))
        ct.static_assert(Point(1, 2) != Point(1, 3) and (1, 2) != (1, 2, 3) and "b" in {"a": 1, "b": 2})

    out = np.zeros((4, 3), np.int32)
    interpret(kernel, 4, out)
    assert out.tolist() == [[i == 1, i in (0, 2), i not in (0, 3)] for i in range(4)]


@dataclass
class Mutable:
    x: int


@dataclass(frozen=True)
class WithFactory:
    x: Any = dataclasses.field(default_factory=tuple)


@dataclass(frozen=True)
class WithOwnInit:
    x: int

    def __init__(self) -> None:
        object.__setattr__(self, "x", 1)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Mutable, r"expected a frozen dataclass, got 'Mutable': declare it with @dataclass\(frozen=True\)"),
        (WithFactory, "the field 'x' of the dataclass 'WithFactory' has default_factory"),
        (WithOwnInit, "the dataclass 'WithOwnInit' defines its own __init__"),
        (list, "the class 'list' cannot be called in a kernel"),
    ],
)
def test_classes_that_kernels_do_not_support(kind: type, problem: str) -> None:
    @ct.kernel
    def kernel():
        kind()

    with pytest.raises(ct.TileTypeError, match=f"test_records.py:.*{problem}"):
        ct.launch(None, 1, kernel, (), backend="interpret")


def test_keywords_are_forwarded(interpret: Interpret) -> None:
    def value(x, *rest, scale=1, **more):
        return x * scale + len(rest) * 100 + len(more) * 1000

    @ct.kernel
    def kernel(out):
        def forward(*arguments, **options):
            return value(*arguments, **options, other=0)

        ct.scatter(out, 0, forward(ct.bid(0) + 3, 0, 0, scale=2))

    out = np.zeros(1, np.int32)
    interpret(kernel, 1, out)
    assert out[0] == 3 * 2 + 200 + 1000


def test_functions_keep_the_values_of_the_call_that_defines_them(interpret: Interpret) -> None:
    def adder(n, step=1):
        def add(x, more=step):
            return x + n + more

        step = -100
        return add

    @ct.kernel
    def kernel(out):
        i = ct.bid(0)
        if i == 0:
            add = adder(i + 10)
        else:
            add = adder(20, 5)
        ct.scatter(out, i, add(1000))

    out = np.zeros(2, np.int32)
    interpret(kernel, 2, out)
    assert out.tolist() == [1011, 1025]


def test_numpy_scalars_are_typed_constants(interpret: Interpret) -> None:
    step, half = np.int8(100), np.float16(0.5)

    @ct.kernel
    def kernel(x, y):
        ct.store(x, 0, step + step + ct.zeros(4, ct.int8))
        ct.store(y, 0, np.int16(3) + half + np.float32() + ct.zeros(4, ct.float32))

    x, y = np.zeros(4, np.int8), np.zeros(4, np.float32)
    interpret(kernel, 1, x, y)
    assert x.tolist() == [-56] * 4
    assert y.tolist() == [3.5] * 4


@dataclass(frozen=True, order=True)
class Version:
    major: Any
    minor: Any = 0

    def __len__(self):
        return self.major

    def __bool__(self):
        return self.major > 1


@pytest.mark.parametrize("n", range(4))
def test_order_length_and_truth(n: int, interpret: Interpret) -> None:
    def values(n):
        one, other = Version(n, 2), Version(2, n)
        return one < other, one <= other, one > other, one >= other, len(one) == n, True if one else False, not other

    @ct.kernel
    def kernel(out, n: int):
        results = values(n)
        for i in ct.static_iter(range(7)):
            ct.scatter(out, i, results[i])

    out = np.zeros(7, np.bool_)
    interpret(kernel, 1, out, n)
    assert out.tolist() == list(values(n))


@dataclass(frozen=True)
class Cells:
    array: Any

    def __getitem__(self, index):
        return ct.gather(self.array, index)

    def __setitem__(self, index, value):
        ct.scatter(self.array, index, value)


def test_element_is_updated_by_an_operator(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        cells = Cells(out)

        def key():
            cells[0] += 1
            return 1

        name = "array"
        cells[key()] -= getattr(cells, name).shape[0] * 10

    out = np.array([0, 100], np.int32)
    interpret(kernel, 1, out)
    assert out.tolist() == [1, 80]


def test_bound_methods_are_merged_by_branches_and_carried_by_loops(interpret: Interpret) -> None:
    @dataclass(frozen=True)
    class Line:
        slope: Any

        def at(self, x):
            return self.slope * x

    def value(n):
        at = Line(5).at
        if n > 1:
            at = Line(n).at
        for i in range(n):
            at = Line(at(i + 1)).at
        return at(3)

    @ct.kernel
    def kernel(out):
        ct.store(out, ct.bid(0), value(ct.bid(0)))

    out = np.zeros(4, np.int32)
    interpret(kernel, 4, out)
    assert out.tolist() == [value(n) for n in range(4)]
