"""`for` and `while` loops compute the same values as the same function in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


def counted(n):
    total, last = 0, -1
    for i in range(n):
        total += i
        last = i
    return total * 100 + last


def stepped(n):
    total = 0
    for i in range(2, n, 3):
        for j in range(i, 2 * i):
            total = total + j
    return total


def swapped(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def breaks_and_continues(n):
    found, steps = -1, 0
    for i in range(10):
        steps += 1
        if i == 7:
            continue
        if i * i > n:
            found = i
            break
        steps += 10
    return found * 1000 + steps


def breaks_late(n):
    total = 0
    for i in range(n):
        if i == 6:
            break
        total += i + 1
    return total


def while_counts(n):
    value, steps = n, 0
    while value > 1 and steps < 50:
        steps += 1
        if value % 2 == 0:
            value = value // 2
            continue
        value = 3 * value + 1
    return steps * 1000 + value


def while_true(n):
    step = 0
    while True:
        step += 3
        if step > n:
            result = step * 2
            break
        if step == 9:
            result = 1
            break
    return result


def replaced(n):
    # `value` is assigned before it is read in every iteration, so only its last value is carried.
    value = 5
    for i in range(n):
        value = i * 2
    return value


FUNCTIONS = {
    f.__name__: f
    for f in (counted, stepped, swapped, breaks_and_continues, breaks_late, while_counts, while_true, replaced)
}


@ct.kernel
def apply(out, name: ct.Constant[str]):
    n = ct.bid(0)
    ct.store(out, (n,), FUNCTIONS[name](n))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_match_python(interpret: Interpret, name: str) -> None:
    out = np.zeros(12, np.int32)
    interpret(apply, 12, out, name)
    np.testing.assert_array_equal(out, [FUNCTIONS[name](n) for n in range(12)])


@ct.kernel
def tiles(x, out, n):
    total, pair = ct.zeros((4,), ct.float32), (0, ct.ones((4,), ct.float32))
    for i in range(n):
        tile = ct.load(x, (i,), (4,))
        if i % 2 == 1:
            total = total + tile
        pair = (pair[0] + i, pair[1] * 2)
    ct.store(out, (0,), total)
    ct.store(out, (1,), pair[1] + pair[0])


def test_loop_carried_tiles_and_tuples(interpret: Interpret) -> None:
    x, out = np.arange(20, dtype=np.float32), np.zeros(8, np.float32)
    interpret(tiles, 1, x, out, 5)
    rows = x.reshape(5, 4)
    np.testing.assert_array_equal(out, np.hstack((rows[1] + rows[3], np.full(4, 32 + 10))))


@ct.kernel
def across_the_signed_limit(out):
    count = 0
    for _ in range(ct.uint32(2**31 - 2), ct.bid(0).astype(ct.uint32) + 2**31):
        count += 1
    ct.store(out, (ct.bid(0),), count)


def test_unsigned_bounds_are_compared_unsigned(interpret: Interpret) -> None:
    out = np.zeros(4, np.int32)
    interpret(across_the_signed_limit, 4, out)
    np.testing.assert_array_equal(out, [2, 3, 4, 5])


@ct.kernel
def persistent(out):
    for tile in range(ct.bid(0), out.shape[0], ct.num_blocks(0)):
        ct.store(out, (tile,), tile * 10 + ct.bid(0))


def test_persistent_loop(interpret: Interpret) -> None:
    out = np.full(10, -1, np.int32)
    interpret(persistent, 3, out)
    np.testing.assert_array_equal(out, [i * 10 + i % 3 for i in range(10)])


@ct.kernel
def returns_from_while(out):
    n, step = ct.bid(0), 0
    while step < 5:
        if step == n:
            return
        ct.store(out, (n, step), 1)
        step += 1
    ct.store(out, (n, 5), 1)


def test_return_from_a_while_loop(interpret: Interpret) -> None:
    out = np.zeros((7, 6), np.int32)
    interpret(returns_from_while, 7, out)
    np.testing.assert_array_equal(out, [[step < n if step < 5 else n >= 5 for step in range(6)] for n in range(7)])


@ct.kernel
def unrolled(x, out):
    total = ct.zeros((4,), ct.float32)
    for i in ct.static_iter(range(0, 6, 2)):
        ct.static_assert(i % 2 == 0)
        total = total + ct.load(x, (i,), (4,))
    for factor, shift in ct.static_iter(((2, 1), (3, 0))):
        total = total * factor + shift
    ct.store(out, (0,), total)


def test_static_loop_is_unrolled(interpret: Interpret, tile_text: Callable[[Any, str], str]) -> None:
    x, out = np.arange(24, dtype=np.float32), np.zeros(4, np.float32)
    interpret(unrolled, 1, x, out)
    rows = x.reshape(6, 4)
    np.testing.assert_array_equal(out, ((rows[0] + rows[2] + rows[4]) * 2 + 1) * 3)
    assert " for " not in tile_text(unrolled, "x: f32[?], out: f32[?]")


def test_only_names_read_later_are_carried(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(a, b, c, n):
        x, y = ct.load(a, (0, 0), (16, 16)), ct.load(b, (0, 0), (16, 16))
        total = ct.zeros((16, 16), ct.float32)
        for k in range(n):
            x, y = ct.load(a, (0, k), (16, 16)), ct.load(b, (k, 0), (16, 16))
            total = ct.mma(x, y, total)
        ct.store(c, (0, 0), total)

    text = tile_text(kernel, "a: f16[?,?], b: f16[?,?], c: f32[?,?], n: i32")
    # x and y are overwritten before they are read, and not live after the loop.
    assert text.count("iter_values(%iterArg0 = ") == 1 and "iterArg1" not in text


def test_for_with_break_becomes_a_loop_operation(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(out, n):
        for i in range(n):
            if i * i > n:
                break
            ct.store(out, (i,), i)

    text = tile_text(kernel, "out: i32[?], n: i32")
    assert " = loop iter_values" in text and " = for " not in text


@pytest.mark.parametrize(
    ("bounds", "guarded"),
    [
        ("n", False),
        ("3, n", False),
        ("0, n, 4", True),
        ("0, 100, n", True),
        ("n, 2**31 - 4, 4", False),
        ("n, 2**31 - 3, 4", True),
        ("0, 2**31 - 1, 2**30", True),
        ("1, 2**31 - 1, 2**29", True),
        ("1, 2**31 - 1, 715827882", False),
        ("9, 3, 2**31 - 1", False),
    ],
)
def test_counter_is_guarded_only_where_it_may_overflow(
    tile_text: Callable[[Any, str], str], tmp_path: Path, bounds: str, guarded: bool
) -> None:
    """The counter of a loop with `break` is limited to the bound, unless counter + step always fits the type."""
    path = tmp_path / "kernel.py"
    lines = [f"for i in range({bounds}):", "    if out.shape[0] < i:", "        break", "    ct.store(out, (i,), i)"]
    path.write_text("\n    ".join(["def kernel(out, n):", *lines]) + "\n")
    scope: dict[str, Any] = {"ct": ct}
    exec(compile(path.read_text(), path, "exec"), scope)
    text = tile_text(ct.kernel(scope["kernel"]), "out: i32[?], n: i32")
    assert ("mini" in text) == guarded


def test_changing_type_is_an_error_at_the_assignment(error_message: Any) -> None:
    def kernel(x, n):
        total = 0
        for i in range(n):
            total = total + ct.load(x, (i,), (4,))
        ct.store(x, (0,), total)

    message = error_message(kernel, "x: f32[?], n: i32")
    assert "'total' changes from iteration to iteration: an int32 scalar and a float32 tile of shape (4,)" in message
    assert "    total = total + ct.load(x, (i,), (4,))\n                ^^^^^\n" in message


@pytest.mark.parametrize("use", ["value", "i"])
def test_names_assigned_in_a_loop_body_are_not_defined_after_the_loop(error_message: Any, use: str) -> None:
    def value(x, n):
        for i in range(n):
            value = i
        ct.store(x, (0,), value)

    def i(x, n):
        for i in range(n):
            ct.store(x, (i,), i)
        ct.store(x, (0,), i)

    message = error_message({"value": value, "i": i}[use], "x: i32[?], n: i32")
    assert f"'{use}' " in message and "which may have zero iterations" in message


# Values of alternating types: 254 groups are the limit of operations that may forward a counter and tokens too.
NAMES = [f"v{i:03}" for i in range(257)]


def kernel_of_many_values(folder: Path, count: int, uses: list[str]) -> Any:
    """A kernel with `count` names, of integers and floats in turn, and statements from line 270 on."""
    names = NAMES[:count]
    lines = [
        "import tilec as ct",
        "def pick(n, values):",
        "    if n > 3:",
        "        if n > 5:",
        "            return values",
    ]
    lines += [
        "    return values",
        "def kernel(x, n):",
        *(f"    {name} = n{' * 1.5' * (i % 2)}" for i, name in enumerate(names)),
    ]
    lines += [""] * (269 - len(lines)) + [f"    {line}" for line in uses]
    lines += [f"    x.shape[0] + {' + '.join(names)}", ""]
    path = folder / "kernel.py"
    path.write_text("\n".join(lines))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), path, "exec"), scope)
    return scope["kernel"]


CHANGES = ["    " + "; ".join(f"{name} += {name}" for name in NAMES[:255])]


@pytest.mark.parametrize(
    ("uses", "count", "limit"),
    [
        (["for i in range(n):", *CHANGES], 255, "a loop can carry at most 254"),
        (["if n > 3:", *CHANGES], 255, "the branches of an 'if' can yield at most 254"),
        ([f"pick(n, ({', '.join(NAMES[:255])}))"], 255, "a function can return at most 254"),
        ([f"print({', '.join(NAMES)})"], 257, "'print' and 'ct.printf' take at most 256"),
        ([f"ct.printf({'%d%f' * 128 + '%d'!r}, {', '.join(NAMES)})"], 257, "'print' and 'ct.printf' take at most 256"),
        (
            [f"ct.reduce(({', '.join(f'{name} + ct.zeros(4, {name}.dtype)' for name in NAMES)}), 0, min, (0,) * 257)"],
            257,
            "'ct.reduce' takes at most 256",
        ),
    ],
)
def test_too_many_values_of_alternating_types(
    error_message: Any, tmp_path: Path, uses: list[str], count: int, limit: str
) -> None:
    message = error_message(kernel_of_many_values(tmp_path, count, uses), "x: i32[?], n: i32")
    problem = f"{limit} groups of consecutive values of one type, got {count}: use fewer values, or one type"
    assert problem in message
    assert f"{tmp_path / 'kernel.py'}:270:5: " in message


@pytest.mark.parametrize("line", ["for i in range(n):", "if n > 3:"])
def test_values_of_the_limit_leave_room_for_tokens(tile_text: Any, tmp_path: Path, line: str) -> None:
    """A `for` with `break` forwards its counter too."""
    body = [f"    {name} += {name}" for name in NAMES[:254]] + ["    ct.store(x, 0, ct.load(x, 1, 1))"]
    leave = ["    if n > 5:", "        break"] if line.startswith("for") else []
    kernel = kernel_of_many_values(tmp_path, 254, [line, *leave, *body, "ct.store(x, 0, n)"])
    assert " token = " in tile_text(ct.kernel(kernel), "x: i32[?], n: i32")


def test_constant_that_every_iteration_keeps_is_constant_after_the_loop(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out, n: int):
        size, pair, step = 4, (8, n), ct.int32(2)
        for i in range(n):
            size, pair, step = 4, (8, pair[1] + i), ct.int32(2)
        for _ in range(5):
            size = 4
            if n == 3:
                break
        ct.store(out, 0, ct.ones(size, ct.int32) + pair[1])
        ct.store(out, 1, ct.full(pair[0] // step, 9, ct.int32))

    for n in (0, 3):
        out = np.zeros(8, np.int32)
        interpret(kernel, 1, out, n)
        assert out.tolist() == [1 + n + sum(range(n))] * 4 + [9] * 4


def test_range_is_chosen_by_a_branch_and_carried_by_a_loop(interpret: Interpret) -> None:
    def total(n):
        steps = range(3)
        if n > 1:
            steps = range(n, 9, 2)
        result = 0
        for i in range(n):
            for j in steps:
                result = result * 3 + j
            steps = range(i, n)
        return result

    @ct.kernel
    def kernel(out):
        ct.store(out, ct.bid(0), total(ct.bid(0)))

    out = np.zeros(4, np.int32)
    interpret(kernel, 4, out)
    assert out.tolist() == [total(n) for n in range(4)]
