"""Random functions with branches and loops compute the same values in a kernel and in Python."""

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
# Blocks of the grid, and memory cells per block.
BLOCKS = 6
CELLS = 3
numbers = itertools.count()


def expression(draw: Callable[..., Any], depth: int = 2) -> str:
    kind = draw(st.integers(0, 6 if depth else 1))
    if kind == 0:
        return str(draw(st.integers(-3, 9)))
    if kind == 1:
        return draw(st.sampled_from(NAMES))
    left, right = expression(draw, depth - 1), expression(draw, depth - 1)
    if kind == 2:
        return f"({left} {draw(st.sampled_from(['+', '-']))} {right})"
    if kind == 3:
        # Divisors are not zero and have both signs, because Python rounds down.
        return f"({left} {draw(st.sampled_from(['//', '%']))} {draw(st.sampled_from([-3, 2, 5]))})"
    if kind == 4:
        return f"({left} if {condition(draw, depth - 1)} else {right})"
    if kind == 5:
        return f"{draw(st.sampled_from(['min', 'max']))}({left}, {right})"
    return f"read(memory, {draw(st.integers(0, CELLS - 1))})"


def condition(draw: Callable[..., Any], depth: int = 1) -> str:
    operator = draw(st.sampled_from(["<", "<=", "==", "!="]))
    test = f"{expression(draw, depth)} {operator} {expression(draw, depth)}"
    if depth and draw(st.booleans()):
        return f"({test} {draw(st.sampled_from(['and', 'or']))} {condition(draw, depth - 1)})"
    return f"(not {test})" if draw(st.integers(0, 4)) == 0 else f"({test})"


def statements(draw: Callable[..., Any], indent: str, depth: int, loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += statement(draw, indent, depth, loop)
    return lines


def statement(draw: Callable[..., Any], indent: str, depth: int, loop: bool) -> list[str]:
    inner = indent + "    "
    kind = draw(
        st.sampled_from(["=", "=", "+=", "write"] + ["if", "if", "for", "while"] * (depth > 0) + ["leave"] * loop)
    )
    if kind == "if":
        lines = [f"{indent}if {condition(draw)}:", *statements(draw, inner, depth - 1, loop)]
        if draw(st.booleans()):
            lines += [f"{indent}else:", *statements(draw, inner, depth - 1, loop)]
        if draw(st.integers(0, 3)) == 0:
            lines += [f"{indent}if {condition(draw)}:", f"{inner}return {expression(draw)}"]
        return lines
    if kind == "for":
        counter = f"i{next(numbers)}"
        bound = f"min(abs({expression(draw)}), {draw(st.integers(0, 4))})"
        head = f"{indent}for {counter} in range({bound}):"
        return [head, f"{inner}a = a + {counter}", *statements(draw, inner, depth - 1, True)]
    if kind == "while":
        counter = f"w{next(numbers)}"
        head = f"{indent}while {counter} < {draw(st.integers(0, 4))} and {condition(draw)}:"
        return [
            f"{indent}{counter} = 0",
            head,
            f"{inner}{counter} += 1",
            *statements(draw, inner, depth - 1, True),
        ]
    if kind == "write":
        return [f"{indent}write(memory, {draw(st.integers(0, CELLS - 1))}, {expression(draw)})"]
    if kind == "leave":
        return [f"{indent}if {condition(draw)}:", f"{inner}{draw(st.sampled_from(['break', 'continue']))}"]
    return [f"{indent}{draw(st.sampled_from(NAMES[:3]))} {kind} {expression(draw)}"]


@st.composite
def programs(draw: Callable[..., Any]) -> str:
    """A function of one integer and memory that always terminates, with variables that are always assigned."""
    lines = statements(draw, "    ", 2, False)
    return "\n".join(
        ["def program(n, memory):", "    a, b, c = 1, n, 3", *lines, f"    return {expression(draw)} + a + b + c", ""]
    )


def cell(index):
    return ct.bid(0) * CELLS + index


IN_KERNEL = {
    "read": lambda memory, index: ct.load(memory, (cell(index),), ()),
    "write": lambda memory, index, value: ct.store(memory, (cell(index),), value),
}
IN_PYTHON = {
    "read": lambda memory, index: memory[index],
    "write": lambda memory, index, value: memory.__setitem__(index, value),
}


def program_of(text: str, path: Path, names: dict[str, Any]) -> Any:
    scope = dict(names)
    exec(compile(text, path, "exec"), scope)
    return scope["program"]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(text=programs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_function_computes_the_same_in_a_kernel_and_in_python(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"program{next(numbers)}.py"
    path.write_text(text)
    in_kernel, in_python = program_of(text, path, IN_KERNEL), program_of(text, path, IN_PYTHON)

    @ct.kernel
    def kernel(out, memory):
        ct.store(out, (ct.bid(0),), in_kernel(ct.bid(0) - 1, memory))

    cells = [[0] * CELLS for _ in range(BLOCKS)]
    expected = np.array([in_python(block - 1, cells[block]) for block in range(BLOCKS)], np.int64).astype(np.int32)
    # The checks of the interpreter report accesses to the same memory that tokens do not order.
    for options in ({"backend": "interpret", "check": True}, {"backend": "simulate"}):
        out, memory = np.zeros(BLOCKS, np.int32), np.zeros(BLOCKS * CELLS, np.int32)
        ct.launch(None, BLOCKS, kernel, (out, memory), **options)
        np.testing.assert_array_equal(out, expected, err_msg=text)
        np.testing.assert_array_equal(memory.reshape(BLOCKS, CELLS), np.array(cells).astype(np.int32), err_msg=text)
