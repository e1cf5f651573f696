"""Errors of Python constructs in kernels: builtins, modules, objects, dataclasses, comprehensions and statements."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilec as ct
from tilec.ast_to_tile.unsupported import reject_statement

ErrorMessage = Callable[[Any, str], str]

HEAD = """\
import dataclasses
import math
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import tilec as ct

EMPTY, KEYS, NAMESPACE, OBJECT = {}, {"a": 1}, SimpleNamespace(a=1), object()


def divided():
    yield 1
    yield 1 // 0


def forever():
    while True:
        pass


@contextmanager
def endless():
    while True:
        pass
    yield


async def asynchronous():
    pass


@dataclass(frozen=True)
class Point:
    x: object = 1
    y: object = 2


@dataclass(frozen=True, eq=False)
class Incomparable:
    x: object = 1


@dataclass(frozen=True)
class Sized:
    length: object = 1

    def __len__(self):
        return self.length


class Subclass(Point):
    pass


@dataclass(frozen=True)
class Allocated:
    x: object = 1

    def __new__(cls, *arguments):
        return object.__new__(cls)


"""


def report_of(error_message: ErrorMessage, folder: Path, code: str, head: str = HEAD) -> tuple[str, str]:
    """The message of a kernel with these statements, and the code that the carets mark."""
    path = folder / "kernel.py"
    path.write_text(
        f"{head}def kernel(x, n, arrays):\n    t = ct.load(x, (0,), (16,))\n{textwrap.indent(code, '    ')}\n"
    )
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), path, "exec"), names)
    report = error_message(names["kernel"], "x: f32[?], n: i32, arrays: list f32[?]").splitlines()
    message = report[0].partition(" error: ")[2]
    if len(report) < 3 or "^" not in report[2]:
        return message, ""
    return message, report[1][report[2].index("^") : report[2].rindex("^") + 1]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # Builtins
        ("range(1, 2, 3, 4)", "'range' takes one to three arguments, got 4"),
        ("len(Sized(1.5))", "'__len__' returns an integer, got the constant 1.5"),
        ("len((1, 2), x=1)", "'len' takes no keyword arguments in a kernel"),
        ("getattr(x, n)", "'getattr' takes a constant name, got an int32 scalar"),
        ("int(t)", "'int' takes a scalar, got a float32 tile of shape (16,)"),
        ("float(1, 2)", "'float' takes a scalar, got the constant 1, the constant 2"),
        ("tuple(n)", "'tuple' takes a tuple, got an int32 scalar"),
        ("EMPTY.get(n)", "'dict.get' takes a dictionary and a constant key, got an empty dictionary, an int32 scalar"),
        ("n in KEYS", "expected a constant key of a dictionary, got an int32 scalar"),
        ("dict(**KEYS, **KEYS)", "the argument 'a' is given twice"),
        ("ct.PaddingMode(n)", "'PaddingMode' takes one constant, got an int32 scalar"),
        ("range(3).start", "a range has no attribute 'start'"),
        ("arrays.size", "list 'arrays' of arrays has no attribute 'size'"),
        ("arrays[1.5]", "expected an integer scalar as index of list 'arrays' of arrays, got the constant 1.5"),
        ("-t.astype(ct.tfloat32)", "tfloat32 has no arithmetic: convert with astype() first"),
        ("ct.float32(-2.0) ** 0.5", "the constants -2.0 and 0.5: the power is not a real number"),
        # The module math
        ("math.exp(n)", "'math.exp' takes only constants in a kernel: for tiles use the functions of ct"),
        ("math.exp(1e9)", "'math.exp': math range error"),
        ("math.factorial(3000)", "the result of 'math.factorial' has more than 4096 bits"),
        # Objects
        ("ct.Slice(0, 4) + 1", "expected tiles or numbers, got a slice of 4 elements"),
        ("EMPTY + 1", "expected tiles or numbers, got an empty dictionary"),
        ("OBJECT + 1", "expected tiles or numbers, got an object of class object"),
        ("NAMESPACE + 1", "expected tiles or numbers, got an instance of SimpleNamespace"),
        ("Point() + 1", "an instance of 'Point' and the constant 1 do not define '__add__'"),
        ("Point() < Point()", "an instance of 'Point' and an instance of 'Point' do not define '__lt__'"),
        ("Point().z", "'Point' has no attribute 'z', its fields are: x, y"),
        (
            "Incomparable() == Incomparable()",
            "'Incomparable' does not define equality: declare the dataclass with eq=True",
        ),
        ("Subclass()", "expected a dataclass, got its subclass 'Subclass': declare 'Subclass' as a dataclass too"),
        ("Allocated()", "the dataclass 'Allocated' defines __new__, which kernels do not call: remove it"),
        ("dataclasses.replace(n, x=1)", "'dataclasses.replace' takes an instance of a dataclass, got an int32 scalar"),
        ("dataclasses.replace(Point(), z=1)", "the dataclass 'Point' has no field 'z', it has: x, y"),
        # Compile time
        ("ct.static_eval(n(3))", "an int32 scalar cannot be called at compile time: call it in the kernel, and use"),
        (
            "ct.static_eval(setattr(n, '__class__', int))",
            "AttributeError: the class of a run-time value cannot be changed",
        ),
        ("ct.static_exception(ValueError())", "ct.static_exception can be used only after 'raise'"),
        ("raise ct.static_exception()", "'ct.static_exception' takes one exception, by position"),
        ("raise ct.static_exception(3)", "'ct.static_exception' takes an exception, got the constant 3"),
        # Python that kernels cannot use
        ("{i for i in range(3)}", "a set comprehension cannot be used in a kernel: use a tuple"),
        ("{i: i for i in range(3)}", "a dictionary comprehension cannot be used in a kernel: use a tuple"),
        ("yield from (1,)", "'yield from' cannot be used in a kernel: return a tuple"),
        ("a, *b, c = (1,)", "expected at least 2 values to unpack, got 1"),
        ("x.value += 1", "only names and elements can be changed by an operator: attributes cannot be assigned"),
    ],
)
def test_statement_is_marked(error_message: ErrorMessage, tmp_path: Path, code: str, message: str) -> None:
    reported, marked = report_of(error_message, tmp_path, code)
    assert message in reported
    assert marked == code


@pytest.mark.parametrize(
    ("code", "marked", "message"),
    [
        ("x[*n]", "*n", "'*' here cannot be used in a kernel: it is supported only in calls and tuples"),
        (
            "tuple(i async for i in ct.static_iter(range(3)))",
            "tuple(i async for i in ct.static_iter(range(3)))",
            "'async for' cannot be used in a kernel: use 'for'",
        ),
        (
            "tuple(i for i in ct.static_iter(range(3), 1))",
            "tuple(i for i in ct.static_iter(range(3), 1))",
            "'ct.static_iter' takes one expression, by position",
        ),
        ("tuple(i for i in ct.static_iter(range(3)) if n > i)", "n > i", "a compile-time condition in a comprehension"),
        ("tuple((k := i) for i in ct.static_iter(range(3)))", "k := i", "':=' cannot be used in a comprehension"),
        (
            "for i in ct.static_iter(divided()):\n    pass",
            "for i in ct.static_iter(divided()):",
            "the iterable of 'ct.static_iter' raised ZeroDivisionError",
        ),
        (
            "for i in ct.static_iter(range(3), 1):\n    pass",
            "for i in ct.static_iter(range(3), 1):",
            "'ct.static_iter' takes one expression, by position",
        ),
        (
            "for a, b in range(3):\n    pass",
            "for a, b in range(3):",
            "expected one name as the variable of a loop over",
        ),
        ("while n:\n    pass\nelse:\n    pass", "while n:", "'else' after a loop cannot be used in a kernel"),
        ("forever()", "while True:", "this loop in a function never ends: leave it with 'break'"),
        ("with endless():\n    pass", "while True:", "this loop in a function never ends: leave it with 'break'"),
        ("async def f():\n    pass", "async def f():", "'async def' cannot be used in a kernel: use 'def'"),
        ("asynchronous()", "", "'async def asynchronous' cannot be used in a kernel: use 'def'"),
        (
            "k = 1\ndef f():\n    nonlocal k\nf()",
            "nonlocal k",
            "'nonlocal' cannot be used in a kernel: functions in kernels cannot assign outer names; return the value",
        ),
    ],
)
def test_part_of_the_code_is_marked(
    error_message: ErrorMessage, tmp_path: Path, code: str, marked: str, message: str
) -> None:
    reported = report_of(error_message, tmp_path, code)
    assert message in reported[0]
    assert reported[1] == marked


@pytest.mark.parametrize(
    ("code", "marked", "message"),
    [
        (
            """k = 1
for i in range(n):
    if i > k:
        if i > 3:
            k = ct.zeros(4, ct.int32)
        else:
            k = ct.zeros(8, ct.int32)
""",
            "for i in range(n):",
            "'k' is carried to the next iteration, but 'k' has incompatible values after the branches of an 'if': "
            "an int32 tile of shape (4,) and an int32 tile of shape (8,)",
        ),
        (
            """while True:
    if n > 3:
        break
    k = 1
n + k
""",
            "k",
            "'k' is not assigned on every path out of a loop: assign it before the loop too",
        ),
        (
            """while True:
    if n > 3:
        k = 1
        break
    if n > 5:
        k = ct.zeros(4, ct.int32)
        break
n + k
""",
            "k",
            "'k' has incompatible values after the loop: the constant 1 and an int32 tile of shape (4,)",
        ),
    ],
)
def test_names_without_a_value(
    error_message: ErrorMessage, tmp_path: Path, code: str, marked: str, message: str
) -> None:
    assert report_of(error_message, tmp_path, code) == (message, marked)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TypeAlias", "a type alias cannot be used in a kernel: define it outside the kernel"),
        ("Future", "this Python construct (Future) cannot be used in a kernel: docs/language.md lists the supported"),
    ],
)
def test_statements_of_later_versions_of_python(name: str, message: str) -> None:
    node = getattr(ast, name, type(name, (ast.stmt,), {}))()
    with pytest.raises(ct.TileSyntaxError) as caught:
        reject_statement(None, node, ())
    assert message in caught.value.message
