"""The output of print in kernels."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


@ct.kernel
def prints(x, N: ct.Constant[int]):
    n = ct.load(x, (1,), ())
    print("n =", n, end=";\n")
    print(f"100% of {N:03d}: {n} and {n * 0.5:.2f}")
    ct.print(N, "two", sep="%")
    ct.printf("%5d|%e\n", n + 1, 2.5)


def test_text_tiles_and_f_strings(interpret: Interpret, capsys: pytest.CaptureFixture[str]) -> None:
    interpret(prints, 1, np.array([3, 42], np.int32), 7)
    assert capsys.readouterr().out == "n = 42;\n100% of 007: 42 and 21.00\n7%two\n   43|2.500000e+00\n"


def test_prints_are_ordered_with_each_other_only(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(x):
        print("one")
        tile = ct.load(x, (0,), (8,))
        print("two")
        ct.store(x, (0,), tile)

    first, load, second, store = [line for line in tile_text(kernel, "x: f32[?]").splitlines() if "_tko" in line]
    token = first.split()[0]
    assert f"token={token}" in second
    assert "] token =" not in load
    assert "token = %result_token" in store


@ct.kernel
def prints_tuples(n):
    pair = divmod(ct.arange(4, dtype=ct.int32), 3)
    print(pair, ("100%", n, (n + 1,), 2))
    print(f"{pair} and {(n, 'x')}", (ct.int16(3), (n, ct.int16(4))), (ct.int16(3), 1))


def test_tuples_of_tiles(interpret: Interpret, capsys: pytest.CaptureFixture[str]) -> None:
    interpret(prints_tuples, 1, 5)
    pair = "([0, 0, 0, 1], [0, 1, 2, 0])"
    assert capsys.readouterr().out == f"{pair} ('100%', 5, (6,), 2)\n{pair} and (5, 'x') (3, (5, 4)) (3, 1)\n"


def test_f_strings_in_tuples_and_f_strings(interpret: Interpret, capsys: pytest.CaptureFixture[str]) -> None:
    @ct.kernel
    def kernel(n):
        print((f"n={n}", 1), f"{(f'{n}',)} {f'<{n:03d}>'}")

    interpret(kernel, 1, 5)
    assert capsys.readouterr().out == "('n=5', 1) ('5',) <005>\n"


def test_format_specification_of_a_tuple(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(n):
        print(f"{(n, 1):3d}")

    with pytest.raises(ct.TileTypeError, match="a format specification needs a tile or a number, got a tuple of 2"):
        interpret(kernel, 1, 5)


@dataclass(frozen=True)
class Plain:
    x: Any
    hidden: Any = field(repr=False, default=None)
    y: Any = "text"


@dataclass(frozen=True)
class Described(Plain):
    def __str__(self):
        return f"described {self.x}"


@dataclass(frozen=True, repr=False)
class Bare:
    x: Any


class Named(NamedTuple):
    x: Any
    y: Any


NAMED = Named(1, "text")


def print_keywords(*values, **named):
    print(*values, named)


def printed(interpret: Interpret, capsys: pytest.CaptureFixture[str], kernel: Any, *arguments: Any) -> list[str]:
    interpret(kernel, 1, *arguments)
    return capsys.readouterr().out.splitlines()


def test_instances_of_dataclasses_have_the_text_of_their_class(
    interpret: Interpret, capsys: pytest.CaptureFixture[str]
) -> None:
    @ct.kernel
    def kernel(n):
        plain, described = Plain(n, 1), Described(n)
        print(plain, (plain,), f"{plain}")
        print(described, f"<{described}>", (described, Plain(3)))
        print_keywords(Bare(n), NAMED, key=n)

    assert printed(interpret, capsys, kernel, 5) == [
        "Plain(x=5, y='text') (Plain(x=5, y='text'),) Plain(x=5, y='text')",
        "described 5 <described 5> (Described(x=5, y='text'), Plain(x=3, y='text'))",
        "<Bare object> Named(x=1, y='text') {'key': 5}",
    ]


def test_strings_with_tiles_are_joined_and_quoted(interpret: Interpret, capsys: pytest.CaptureFixture[str]) -> None:
    @ct.kernel
    def kernel(n):
        text = f"n={n}" + ", " + str(n + 1)
        print(text, repr(text), sep=f" {n} ")
        print((f"a'{n}", f'a"{n}', f"'{n}\"\n"), end=f"|{n}\n")

    quoted = "(\"a'5\", 'a\"5', '\\'5\"\\n')"
    assert printed(interpret, capsys, kernel, 5) == ["n=5, 6 5 'n=5, 6'", f"{quoted}|5"]


def integer_text(n: int) -> str:
    return f"{n}|{n:6}|{n:<6}|{n:>6}|{n:+}|{n:06}|{n:6x}|{n:#x}|{n:-6d}|{n: d}|100%"


def float_text(x: float) -> str:
    return f"{x:f}|{x:.2f}|{x:+9.3e}|{x:<8.1f}|{x:G}"


@ct.kernel
def prints_formats(narrow, wide, x):
    print(integer_text(narrow))
    print(integer_text(wide))
    print(float_text(x))


def test_format_specifications_have_their_meaning_in_python(
    interpret: Interpret, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(interpret, capsys, prints_formats, 42, 2**40 + 1, -2.25)
    assert lines == [integer_text(42), integer_text(2**40 + 1), float_text(-2.25)]


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("f'{x:^6}'", ct.TileTypeError, "expected a printf format for int32, got ':^6'"),
        ("f'{x:<06}'", ct.TileTypeError, "expected a printf format for int32, got ':<06'"),
        ("f'{x:,}'", ct.TileTypeError, "expected a printf format for int32, got ':,'"),
        ("f'{x:.1f}'", ct.TileTypeError, "expected a printf format for int32, got ':.1f'"),
        ("f'{x:{6}}'", ct.TileSyntaxError, "a format specification in a kernel must be a literal string"),
        ("f'{3:yes}'", ct.TileTypeError, "the format specification ':yes' of the constant 3"),
        ("f'{Formatted(3)}'", ct.TileTypeError, "'Formatted' defines __format__, which f-strings do not call"),
        ("Unprintable(3)", ct.TileTypeError, "'Unprintable.__str__' returns the constant 3: expected a string"),
        ("(integer_text,)", ct.TileTypeError, "got the function 'integer_text'"),
        ("x, sep=1", ct.TileTypeError, "argument 'sep': expected a string, got the constant 1"),
    ],
)
def test_value_without_a_text(tmp_path: Any, text: str, kind: type[Exception], problem: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"{PREAMBLE}@ct.kernel\ndef kernel(x):\n    print({text})\n")
    with pytest.raises(kind) as caught:
        ct.launch(None, 1, runpy.run_path(str(path))["kernel"], (1,), backend="interpret")
    assert problem in str(caught.value) and "kernel.py" in str(caught.value)


PREAMBLE = """import tilec as ct
from dataclasses import dataclass
@dataclass(frozen=True)
class Formatted:
    x: object
    def __format__(self, specification): return "text"
@dataclass(frozen=True)
class Unprintable:
    x: object
    def __str__(self): return self.x
def integer_text(n): return f"{n}"
"""


def test_conversion_in_an_f_string_is_refused(error_message: Any) -> None:
    def kernel(x):
        print(f"{ct.load(x, 0, 4)!r}")

    assert "'!r' in an f-string cannot be used in a kernel: remove it" in error_message(kernel, "x: f32[?]")
