"""`if` and conditional expressions compute the same values as the same function in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


def merged(n):
    a, b = 1, 2
    if n > 3:
        a = n * 2
        if n > 6:
            b = 5
    elif n == 2:
        a, b = b * 3 + 1, 3
    else:
        b = n + 4
    return a * 100 + b


def returns_early(n):
    if n < 2:
        return 10
    if n == 3:
        n = n + 1
    elif n > 6:
        if n == 7:
            return 70
        n = n * 2
    else:
        return -n
    return n + 1


def conditional(n):
    small = n < 4
    x = 1 if small else 2
    y = n * 10 if n % 2 == 0 and n > 2 or n == 1 else -n
    return x + y + (100 if not small else 0) + (1000 if 2 < n <= 5 else 0)


def returns_below_a_known_condition(n):
    if LIMIT > 3:
        if n < 2:
            n = n + 5
        if n > 6:
            return -n
    return n * 2


LIMIT = 4
FUNCTIONS = {
    "merged": merged,
    "returns_early": returns_early,
    "conditional": conditional,
    "known": returns_below_a_known_condition,
}


@ct.kernel
def apply(out, name: ct.Constant[str]):
    n = ct.bid(0)
    ct.store(out, (n,), FUNCTIONS[name](n))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_with_branches_match_python(interpret: Interpret, name: str) -> None:
    out = np.zeros(9, np.int32)
    interpret(apply, 9, out, name)
    np.testing.assert_array_equal(out, [FUNCTIONS[name](n) for n in range(9)])


@ct.kernel
def in_kernel(x, out):
    n = ct.bid(0)
    if n == 5:
        return
    tile = ct.load(x, (0,), (4,))
    scale = 1.0
    if n > 3:
        tile = tile + n
    else:
        scale = 2.0
        if n == 0:
            return
    ct.store(out, (n, 0), (tile * scale)[None, :])


def test_early_return_from_a_kernel(interpret: Interpret) -> None:
    x, out = np.arange(4, dtype=np.float32), np.full((7, 4), -1, np.float32)
    interpret(in_kernel, 7, x, out)
    expected = [[-1] * 4 if n in (0, 5) else x + n if n > 3 else x * 2 for n in range(7)]
    np.testing.assert_array_equal(out, expected)


@ct.kernel
def stores(out):
    n = ct.bid(0)
    if n % 2 == 0:
        ct.store(out, (n,), 1)
    else:
        ct.store(out, (n,), 2)


def test_store_is_executed_only_in_its_branch(interpret: Interpret) -> None:
    out = np.zeros(4, np.int32)
    interpret(stores, 4, out)
    np.testing.assert_array_equal(out, [1, 2, 1, 2])


@ct.kernel
def guarded(x, out):
    n = ct.bid(0)
    ok = n < 2 and ct.sum(ct.load(x, (n,), (4,), check_bounds=False)) > 7
    bad = n >= 2 or ct.sum(ct.load(x, (n,), (4,), check_bounds=False)) > 7
    ct.store(out, (0, n), ok)
    ct.store(out, (1, n), bad)


def test_and_and_or_short_circuit(interpret: Interpret) -> None:
    # Blocks 2 and 3 would load out of bounds, which the interpreter refuses.
    out = np.zeros((2, 4), np.bool_)
    interpret(guarded, 4, np.arange(8, dtype=np.float32), out)
    np.testing.assert_array_equal(out, [[False, True, False, False], [False, True, True, True]])


@ct.kernel
def known(x, out, FLAG: ct.Constant[bool]):
    if FLAG:
        value = ct.load(x, (0,), (4,))
    else:
        value = undefined_function()  # noqa: F821  (never reached)
    if x.dtype == ct.float32 and x.ndim == 1 and FLAG is not None:
        ct.store(out, (0,), value)


def test_constant_condition_emits_no_branch(tile_text: Callable[[Any, str], str]) -> None:
    assert " if " not in tile_text(known, "x: f32[?], out: f32[?], FLAG=True")


@ct.kernel
def dead(n, out):
    if n > 0:
        tile = ct.zeros((4,), ct.float32)
        ct.store(out, (0,), tile)
    else:
        tile = ct.zeros((8,), ct.int32)
    tile = ct.ones((4,), ct.float32)
    ct.store(out, (1,), tile)


def test_incompatible_values_of_unread_names_are_accepted(interpret: Interpret) -> None:
    out = np.zeros(8, np.float32)
    interpret(dead, 1, 1, out)
    np.testing.assert_array_equal(out, [0, 0, 0, 0, 1, 1, 1, 1])


@ct.kernel
def tuples(n, out):
    pair = (1, (2.0, "label"))
    if n > 0:
        pair = (n, (3.0, "label"))
    ct.static_assert(pair[1][1] == "label")
    ct.store(out, (0,), pair[0] + pair[1][0])


@pytest.mark.parametrize(("n", "value"), [(0, 3), (5, 8)])
def test_tuples_merge_item_by_item(interpret: Interpret, n: int, value: int) -> None:
    out = np.zeros(1, np.float32)
    interpret(tuples, 1, n, out)
    assert out[0] == value


def test_incompatible_values_are_an_error_at_their_use(error_message: Any) -> None:
    def kernel(n, out):
        if n > 3:
            tile = ct.zeros((4,), ct.float32)
        else:
            tile = ct.zeros((8,), ct.float32)
        ct.store(out, (0,), tile)

    message = error_message(kernel, "n: i32, out: f32[?]")
    assert "'tile' has incompatible values after the branches of an 'if': a float32 tile of shape (4,)" in message
    assert message.count("note: assigned here") == 2


def test_constants_of_two_types_are_incompatible(error_message: Any) -> None:
    def kernel(n, out):
        value = ct.int16(7)
        if n > 3:
            value = ct.int32(7)
        ct.store(out, (0,), value)

    assert "the int32 constant 7 and the int16 constant 7" in error_message(kernel, "n: i32, out: i32[?]")


def test_name_assigned_in_one_branch_is_an_error_at_its_use(error_message: Any) -> None:
    def kernel(n, out):
        if n > 3:
            tile = ct.zeros((4,), ct.float32)
        ct.store(out, (0,), tile)

    assert "'tile' is assigned in one branch only: assign it before the 'if', or in both" in error_message(
        kernel, "n: i32, out: f32[?]"
    )


@ct.kernel
def connected(out, n, m):
    def count(value):
        ct.atomic_add(out, 4, 1)
        return value

    ct.scatter(out, 0, ct.astype(n and m, ct.int32))
    ct.scatter(out, 1, ct.astype(n or m, ct.int32))
    ct.scatter(out, 2, ct.astype(n and count(m), ct.int32))
    ct.scatter(out, 3, ct.astype(n or count(m), ct.int32))
    if n or out.shape[0] > 99:
        ct.scatter(out, 5, 1)
    connected = (0 or 5) is True and (3 and 0) is False and (None or 2) is True
    ct.static_assert(connected)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 4), (6, 0), (2, 4)])
def test_and_and_or_of_integers_are_booleans(n: int, m: int) -> None:
    out = np.zeros(6, np.int32)
    ct.launch(None, 1, connected, (out, n, m), backend="interpret")
    # `and` evaluates its second operand if n is true, `or` if n is false: count() is called once for every n.
    assert out.tolist() == [bool(n and m), bool(n or m), bool(n and m), bool(n or m), 1, bool(n)]


@pytest.mark.parametrize("leaves", ["then", "else"])
def test_kernel_returns_in_one_branch(interpret: Interpret, leaves: str) -> None:
    """The block that stays has the values of its branch after the `if`."""

    @ct.kernel
    def in_else(x, n):
        if n == 0:
            value = 1
        else:
            return
        ct.store(x, 0, value)

    @ct.kernel
    def in_then(x, n):
        if n != 0:
            return
        else:
            value = 1
        ct.store(x, 0, value)

    for n, expected in ((0, 1), (1, 0)):
        x = np.zeros(1, np.int32)
        interpret(in_else if leaves == "else" else in_then, 1, x, n)
        assert x[0] == expected
