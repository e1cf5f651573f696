"""Atomic operations; the interpreter runs blocks in sequence, so that old values are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


@ct.kernel
def update(x, old, name: ct.Constant[str]):
    indices = ct.arange(4, dtype=ct.int32) + 1
    if name == "add":
        before = ct.atomic_add(x, indices, 5)
    elif name == "max":
        before = ct.atomic_max(x, indices, 5)
    elif name == "min":
        before = ct.atomic_min(x, indices, 5)
    elif name == "xchg":
        before = ct.atomic_xchg(x, indices, 5)
    elif name == "and":
        before = ct.atomic_and(x, indices, 5)
    elif name == "or":
        before = ct.atomic_or(x, indices, 5)
    elif name == "xor":
        before = ct.atomic_xor(x, indices, 5)
    elif name == "cas":
        before = ct.atomic_cas(x, indices, 7, 5)
    ct.store(old, (0,), before)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", lambda x: x + 5),
        ("max", lambda x: max(x, 5)),
        ("min", lambda x: min(x, 5)),
        ("xchg", lambda x: 5),
        ("and", lambda x: x & 5),
        ("or", lambda x: x | 5),
        ("xor", lambda x: x ^ 5),
        ("cas", lambda x: 5 if x == 7 else x),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_elements_are_updated_and_old_values_returned(
    interpret: Interpret, name: str, function: Callable[[int], int], dtype: Any
) -> None:
    x, old = np.array([1, 7, 4, 9], dtype), np.zeros(4, dtype)
    interpret(update, 1, x, old, name)
    # Index 4 is out of bounds, so nothing is written there.
    np.testing.assert_array_equal(x, [1, *map(function, (7, 4, 9))])
    np.testing.assert_array_equal(old[:3], [7, 4, 9])


@ct.kernel
def split_sum(x, out):
    ct.atomic_add(out, 0, ct.sum(ct.load(x, (ct.bid(0),), (8,))))


def test_blocks_add_to_one_sum(interpret: Interpret) -> None:
    x, out = np.arange(32, dtype=np.float32), np.zeros(1, np.float32)
    interpret(split_sum, 4, x, out)
    assert out[0] == x.sum()


@ct.kernel
def locked(lock, count):
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.scatter(count, 0, ct.gather(count, 0) + 1)
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


def test_lock_orders_the_accesses_between_acquire_and_release(
    interpret: Interpret, tile_text: Callable[[Any, str], str]
) -> None:
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    interpret(locked, 5, lock, count)
    assert (lock[0], count[0]) == (0, 5)
    text = tile_text(locked, "lock: i32[?], count: i32[?]")
    release = next(line for line in text.splitlines() if "atomic_rmw_tko release device" in line)
    store = next(line for line in text.splitlines() if "store_ptr_tko" in line)
    assert "token=" in release and "token=" in store


def test_unsupported_element_type_is_rejected(error_message: Any) -> None:
    def kernel(x):
        ct.atomic_max(x, 0, 1)

    assert "expected elements of int32, int64, uint32, uint64, got float32" in error_message(kernel, "x: f32[?]")


@pytest.mark.parametrize("name", ["atomic_and", "atomic_or", "atomic_xor"])
@pytest.mark.parametrize(("array", "update"), [(np.int64, np.int32), (np.uint32, np.int32), (np.int32, np.uint32)])
def test_bitwise_atomic_with_another_integer_type_is_rejected(name: str, array: type, update: type) -> None:
    function = getattr(ct, name)

    @ct.kernel
    def joined(x, y):
        function(y, 0, ct.gather(x, 0))

    message = f"'ct.{name}', argument 'update': expected elements of .* like array 'y'"
    with pytest.raises(ct.TileTypeError, match=message):
        ct.launch(None, 1, joined, (np.ones(4, update), np.ones(4, array)), backend="interpret")


def test_python_number_has_the_type_of_the_array_in_a_bitwise_atomic() -> None:
    @ct.kernel
    def joined(y):
        ct.atomic_or(y, 0, 6)

    y = np.ones(1, np.uint64)
    ct.launch(None, 1, joined, (y,), backend="interpret")
    assert y[0] == 7


@ct.kernel
def update_tile(x, name: ct.Constant[str]):
    view, update = x.tiled_view((2, 4)), ct.arange(4, dtype=x.dtype) + 4
    if name == "add":
        view.atomic_store_add((0, 1), update)
    elif name == "max":
        view.atomic_store_max((0, 1), update)
    elif name == "min":
        view.atomic_store_min((0, 1), update)
    elif name == "and":
        view.atomic_store_and((0, 1), update)
    elif name == "or":
        view.atomic_store_or((0, 1), update)
    elif name == "xor":
        view.atomic_store_xor((0, 1), update)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", np.add),
        ("max", np.maximum),
        ("min", np.minimum),
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_tile_of_a_view_is_updated(interpret: Interpret, name: str, function: Any, dtype: Any) -> None:
    """The update is broadcast to two rows; the last column of the tile is outside of the array."""
    x = np.arange(21, dtype=dtype).reshape(3, 7)
    expected = x.copy()
    expected[:2, 4:] = function(x[:2, 4:], np.array([4, 5, 6], dtype))
    interpret(update_tile, 1, x, name)
    np.testing.assert_array_equal(x, expected)


def test_unsupported_element_type_of_a_view_is_rejected(error_message: Any) -> None:
    def kernel(x):
        x.tiled_view(4).atomic_store_or(0, 1)

    message = error_message(kernel, "x: f32[?]")
    assert "'atomic_store_or', argument 'self': expected elements of int32, int64, uint32, uint64, got" in message


def test_bitwise_update_of_a_view_with_another_type_is_rejected(error_message: Any) -> None:
    def kernel(x):
        x.tiled_view(4).atomic_store_and(0, ct.arange(4, dtype=ct.int32))

    assert "expected elements of int64 like array 'x'" in error_message(kernel, "x: i64[?]")
