"""Random functions with branches and loops do in a kernel what they do in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilec as ct

NAMES = ("a", "b", "c", "n")
# How often the innermost statement of a program may run at most: loops run up to 4 times, nested twice.
BLOCKS = 6
numbers = itertools.count()


def expression(draw: Callable[..., Any], depth: int = 2) -> str:
    kind = draw(st.integers(0, 5 if depth else 1))
    if kind == 0:
        return str(draw(st.integers(-3, 9)))
    if kind == 1:
        return draw(st.sampled_from(NAMES))
    left, right = expression(draw, depth - 1), expression(draw, depth - 1)
    if kind == 2:
        return f"({left} {draw(st.sampled_from(['+', '-']))} {right})"
    if kind == 3:
        # Divisors are not zero; both signs, as Python rounds down.
        return f"({left} {draw(st.sampled_from(['//', '%']))} {draw(st.sampled_from([-3, 2, 5]))})"
    if kind == 4:
        return f"({left} if {condition(draw, depth - 1)} else {right})"
    return f"{draw(st.sampled_from(['min', 'max']))}({left}, {right})"


def condition(draw: Callable[..., Any], depth: int = 1) -> str:
    operator = draw(st.sampled_from(["<", "<=", "==", "!="]))
    test = f"{expression(draw, depth)} {operator} {expression(draw, depth)}"
    if depth and draw(st.booleans()):
        return f"({test} {draw(st.sampled_from(['and', 'or']))} {condition(draw, depth - 1)})"
    return f"(not {test})" if draw(st.integers(0, 4)) == 0 else f"({test})"


def statements(draw: Callable[..., Any], indent: str, depth: int, loop: bool, returns: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += statement(draw, indent, depth, loop, returns)
    return lines


def statement(draw: Callable[..., Any], indent: str, depth: int, loop: bool, returns: bool) -> list[str]:
    inner = indent + "    "
    kind = draw(st.sampled_from(["=", "=", "+="] + ["if", "if", "for", "while"] * (depth > 0) + ["leave"] * loop))
    if kind == "if":
        lines = [f"{indent}if {condition(draw)}:", *statements(draw, inner, depth - 1, loop, returns)]
        if draw(st.booleans()):
            lines += [f"{indent}else:", *statements(draw, inner, depth - 1, loop, returns)]
        if returns and draw(st.integers(0, 3)) == 0:
            lines += [f"{indent}if {condition(draw)}:", f"{inner}return {expression(draw)}"]
        return lines
    if kind == "for":
        counter = f"i{next(numbers)}"
        bound = f"min(abs({expression(draw)}), {draw(st.integers(0, 4))})"
        head = f"{indent}for {counter} in range({bound}):"
        return [head, f"{inner}a = a + {counter}", *statements(draw, inner, depth - 1, True, False)]
    if kind == "while":
        counter = f"w{next(numbers)}"
        head = f"{indent}while {counter} < {draw(st.integers(0, 4))} and {condition(draw)}:"
        return [
            f"{indent}{counter} = 0",
            head,
            f"{inner}{counter} += 1",
            *statements(draw, inner, depth - 1, True, False),
        ]
    if kind == "leave":
        return [f"{indent}if {condition(draw)}:", f"{inner}{draw(st.sampled_from(['break', 'continue']))}"]
    return [f"{indent}{draw(st.sampled_from(NAMES[:3]))} {kind} {expression(draw)}"]


@st.composite
def programs(draw: Callable[..., Any]) -> str:
    """A function of one integer that always ends, over variables that are always assigned."""
    lines = statements(draw, "    ", 2, False, True)
    return "\n".join(
        ["def program(n):", "    a, b, c = 1, n, 3", *lines, f"    return {expression(draw)} + a + b + c", ""]
    )


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(text=programs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_function_is_the_same_in_a_kernel_and_in_python(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"program{next(numbers)}.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, path, "exec"), names)
    program = names["program"]

    @ct.kernel
    def kernel(out):
        ct.store(out, (ct.bid(0),), program(ct.bid(0) - 1))

    out = np.zeros(BLOCKS, np.int32)
    ct.launch(None, BLOCKS, kernel, (out,), backend="interpret")
    expected = [program(block - 1) for block in range(BLOCKS)]
    np.testing.assert_array_equal(out, np.array(expected, np.int64).astype(np.int32), err_msg=text)
