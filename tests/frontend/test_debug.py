"""The output of print in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def test_conversion_in_an_f_string_is_refused(error_message: Any) -> None:
    def kernel(x):
        print(f"{ct.load(x, 0, 4)!r}")

    assert "'!r' in an f-string cannot be used in a kernel: remove it" in error_message(kernel, "x: f32[?]")
