"""Accesses to the same array are ordered by tokens; accesses to different arrays are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tilec as ct

Text = Callable[[Any, str], str]


def lines(text: str) -> list[str]:
    """The lines of operations on memory and tokens, without types."""
    kept = [line.strip() for line in text.splitlines() if re.search(r"_tko|token|continue|yield|break", line)]
    return [line if line.endswith("{") else re.split(r" : (?=partition|tile|token)", line)[0] for line in kept]


def test_arrays_that_are_only_loaded_have_no_tokens(tile_text: Text) -> None:
    @ct.kernel
    def kernel(x, y, n):
        total = ct.zeros((8,), ct.float32)
        for i in range(n):
            total = total + ct.load(x, (i,), (8,))
        ct.store(y, (0,), total)

    text = tile_text(kernel, "x: f32[?], y: f32[?], n: i32")
    assert not re.search(r"\] token = ", text) and "make_token" not in text and "join_tokens" not in text


def test_load_waits_for_the_last_store_to_its_array(tile_text: Text) -> None:
    @ct.kernel
    def kernel(x, y):
        tile = ct.load(x, (0,), (8,))
        ct.store(y, (0,), tile)
        ct.store(y, (1,), ct.load(y, (0,), (8,)))

    assert lines(tile_text(kernel, "x: f32[?], y: f32[?]")) == [
        "%tile, %result_token = load_view_tko weak %pview[%cst_0_i32]",
        "%0 = store_view_tko weak %tile, %pview_4[%cst_0_i32_5]",
        "%tile_7, %result_token_8 = load_view_tko weak %pview_4[%cst_0_i32_6] token = %0",
        "%1 = join_tokens %0, %result_token_8",
        "%2 = store_view_tko weak %tile_7, %pview_4[%cst_1_i32] token = %1",
    ]


def test_loop_carries_the_tokens_of_stored_arrays(tile_text: Text) -> None:
    @ct.kernel
    def kernel(x, y, n):
        for i in range(n):
            ct.store(y, (i,), ct.load(x, (i,), (8,)))
        ct.store(y, (0,), 0.0)

    assert lines(tile_text(kernel, "x: f32[?], y: f32[?], n: i32")) == [
        "%0 = make_token",
        "%for = for %loopIdx in (%cst_0_i32 to %arg6, step %cst_1_i32) : tile<i32> "
        "iter_values(%iterArg0 = %0) -> (token) {",
        "%tile, %result_token = load_view_tko weak %pview[%loopIdx]",
        "%2 = store_view_tko weak %tile, %pview_5[%loopIdx] token = %iterArg0",
        "continue %2",
        "%1 = store_view_tko weak %reshape, %pview_4[%cst_0_i32_6] token = %for",
    ]


def test_branch_yields_the_tokens_of_stored_arrays(tile_text: Text) -> None:
    @ct.kernel
    def kernel(y, n):
        ct.store(y, (0,), 0.0)
        if n > 3:
            ct.store(y, (1,), 1.0)
        ct.store(y, (2,), 2.0)

    text = lines(tile_text(kernel, "y: f32[?], n: i32"))
    assert text[1:6] == [
        "%2 = if %1 -> (token) {",
        "%4 = store_view_tko weak %reshape_2, %pview[%cst_1_i32] token = %0",
        "yield %4",
        "yield %0",
        "%3 = store_view_tko weak %reshape_1, %pview[%cst_2_i32] token = %2",
    ]


def test_pointers_and_views_of_one_array_are_ordered(tile_text: Text) -> None:
    @ct.kernel
    def kernel(y):
        ct.scatter(y, ct.arange(8, dtype=ct.int32), 1.0)
        part = y.slice(0, 2, 6)
        ct.store(part, (0,), ct.gather(y, ct.arange(8, dtype=ct.int32) + 1))

    text = lines(tile_text(kernel, "y: f32[?]"))
    assert text[0].startswith("%4 = store_ptr_tko weak ") and "token" not in text[0]
    assert "load_ptr_tko" in text[1] and text[1].endswith("token=%4")
    assert text[2] == "%12 = join_tokens %4, %result_token"
    assert "store_view_tko" in text[3] and text[3].endswith("token = %12")


def test_all_accesses_wait_for_an_acquire_and_a_release_waits_for_all(tile_text: Text) -> None:
    @ct.kernel
    def kernel(flag, x, y):
        order, scope = ct.MemoryOrder, ct.MemoryScope.DEVICE
        ct.load(flag, (0,), (1,), memory_order=order.ACQUIRE, memory_scope=scope)
        tile = ct.load(x, (0,), (8,))
        ct.store(y, (0,), tile)
        ct.store(flag, (1,), 1, memory_order=order.RELEASE, memory_scope=scope)

    acquire, load, store, join, release = lines(tile_text(kernel, "flag: i32[?], x: f32[?], y: f32[?]"))
    assert acquire.startswith("%tile, %result_token = load_view_tko acquire device")
    assert load.endswith("token = %result_token")
    assert store.startswith("%0 = ") and store.endswith("token = %result_token")
    assert join == "%1 = join_tokens %result_token, %result_token_11, %0"
    assert "release device" in release and release.endswith("token = %1")


def test_weak_accesses_follow_no_atomic_whose_result_nothing_uses(tile_text: Text) -> None:
    """Nothing shows the tile block which release the atomic reads; accesses with an order follow it all the same."""

    @ct.kernel
    def kernel(sums, x, y, flag):
        ct.atomic_add(sums, 0, 1)
        ct.store(y, (0,), ct.load(x, (0,), (8,)))
        ct.atomic_add(flag, 0, 1, memory_order=ct.MemoryOrder.RELAXED)

    atomic, load, store, relaxed = lines(tile_text(kernel, "sums: i32[?], x: i32[?], y: i32[?], flag: i32[?]"))
    assert "acq_rel" in atomic and "token" not in load.split("]")[1] and "token =" not in store
    assert "relaxed" in relaxed and relaxed.endswith("token=%result_token")


def test_weak_accesses_follow_an_atomic_after_a_relaxed_read(tile_text: Text) -> None:
    @ct.kernel
    def kernel(flag, x, y):
        order = ct.MemoryOrder
        while ct.atomic_or(flag, 0, 0, memory_order=order.RELAXED) == 0:
            pass
        ct.atomic_or(flag, 0, 0, memory_order=order.ACQUIRE)
        ct.store(y, (0,), ct.load(x, (0,), (8,)))

    text = lines(tile_text(kernel, "flag: i32[?], x: i32[?], y: i32[?]"))
    load, store = text[-2:]
    assert "load_view_tko" in load and "token = " in load and "store_view_tko" in store and "token = " in store


def test_the_scope_of_a_read_limits_what_it_shows(tile_text: Text) -> None:
    """A read with the scope of the device does not acquire what another device releases."""

    def kernel_with(scope: ct.MemoryScope) -> Any:
        @ct.kernel
        def kernel(flag, x, y):
            while ct.atomic_or(flag, 0, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
                pass
            value = ct.load(x, (0,), (8,))
            ct.atomic_or(flag, 0, 0, memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=scope)
            ct.store(y, (0,), value + ct.load(x, (1,), (8,)))

        return kernel

    def tokens(scope: ct.MemoryScope) -> list[str]:
        text = tile_text(kernel_with(scope), "flag: i32[?], x: i32[?], y: i32[?]")
        return re.findall(r"load_view_tko weak .*?token = (%\w+)", text)

    device, system = tokens(ct.MemoryScope.DEVICE), tokens(ct.MemoryScope.SYS)
    assert len(set(device)) == 1 and len(device) == 2
    assert len(set(system)) == 2


def test_a_release_follows_loads_of_arrays_that_are_only_loaded(tile_text: Text) -> None:
    """Another kernel may overwrite the array once it sees the release."""

    @ct.kernel
    def kernel(x, y, done):
        tile = ct.load(x, (0,), (8,))
        ct.atomic_add(done, 0, 1, memory_order=ct.MemoryOrder.RELEASE)
        ct.store(y, (0,), tile)

    load, release, _ = lines(tile_text(kernel, "x: i32[?], y: i32[?], done: i32[?]"))
    assert load.startswith("%tile, %result_token") and release.endswith("token=%result_token")
