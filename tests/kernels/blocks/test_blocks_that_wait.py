"""Kernels whose blocks wait for other blocks: each ends with the right values, and its twin deadlocks at its line."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.errors import SimulationError

TARGETS = ("sm_100a", "sm_90a")
BLOCKS = (3, 5, 8, 64)
SEEDS = (0, 1, 3)
ROW = 32
ELEMENTS = {np.dtype(np.int32): "i32", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}
acquire, release = ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def grid_barrier(counter, part, out, blocks, rounds: ct.Constant[int], missing):
    """Each block adds the numbers of the other blocks in each round."""
    me = ct.bid(0)
    total = ct.zeros((), ct.int32)
    for r in range(rounds):
        ct.store(part, (r * blocks + me,), me + r)
        if me != missing:
            ct.atomic_add(counter, r, 1, memory_order=release)
        while ct.atomic_add(counter, r, 0, memory_order=acquire) < blocks:
            pass
        for other in range(blocks):
            total = total + ct.load(part, (r * blocks + other,), (1,)).item()
    ct.store(out, (me,), total)


@ct.kernel
def turnstile(turn, out, blocks, rounds: ct.Constant[int], missing):
    """The last block is first: each block waits for its turn, and appends its number."""
    me = ct.bid(0)
    rank = blocks - 1 - me
    while ct.atomic_add(turn, 0, 0, memory_order=acquire) != rank:
        pass
    ct.store(out, (rank,), me)
    if me != missing:
        ct.atomic_add(turn, 0, 1, memory_order=release)


@ct.kernel
def look_back(flags, partial, inclusive, x, y, row: ct.Constant[int], missing):
    """The prefix sums of an array: each block waits for the inclusive sum of the block before it."""
    me = ct.bid(0)
    tile = ct.load(x, (me,), (row,))
    sums = ct.cumsum(tile, axis=0)
    before = ct.zeros((), ct.int32)
    if me > 0:
        while ct.load(flags, (me - 1,), (1,), memory_order=acquire, memory_scope=ct.MemoryScope.DEVICE).item() == 0:
            pass
        before = ct.load(inclusive, (me - 1,), (1,)).item()
    ct.store(inclusive, (me,), before + ct.sum(tile))
    if me != missing:
        ct.atomic_add(flags, me, 1, memory_order=release)
    ct.store(y, (me,), sums + before)


@ct.kernel
def stream_k(A, B, C, part, flags, T: ct.Constant[int], blocks, missing):
    """Each block multiplies a part of K; block 0 waits for the others, and adds their sums."""
    me = ct.bid(0)
    product = ct.mma(ct.load(A, (0, me), (T, T)), ct.load(B, (me, 0), (T, T)), ct.zeros((T, T), ct.float32))
    if me == 0:
        for other in range(1, blocks):
            while ct.atomic_add(flags, other, 0, memory_order=acquire) == 0:
                pass
            product = product + ct.load(part, (other, 0), (T, T))
        ct.store(C, (0, 0), product)
    else:
        ct.store(part, (me, 0), product)
        if me != missing:
            ct.atomic_add(flags, me, 1, memory_order=release)


@cache
def compiled(kernel: ct.Kernel, target: str, signature: str) -> Any:
    return ct.compile(kernel, signature=signature, target=target, stop="ptx")


def simulated(kernel: ct.Kernel, target: str, blocks: int, args: tuple[Any, ...], constants: str, seed: int) -> None:
    arrays = ", ".join(
        f"{name}: {ELEMENTS[a.dtype]}[{','.join('?' * a.ndim)}]"
        for name, a in zip(kernel.parameters, args, strict=False)
        if isinstance(a, np.ndarray)
    )
    ct.run(compiled(kernel, target, f"{arrays}, {constants}"), (blocks,), args, backend="simulate", seed=seed)


def barrier_case(blocks: int, missing: int) -> tuple[tuple[Any, ...], str, list[tuple[np.ndarray, np.ndarray]]]:
    part, out = np.zeros(2 * blocks, np.int32), np.zeros(blocks, np.int32)
    total = sum(me + r for me in range(blocks) for r in range(2))
    args = (np.zeros(2, np.int32), part, out, blocks, 2, missing)
    return args, "blocks: i32, rounds=2, missing: i32", [(out, np.full(blocks, total, np.int32))]


def turnstile_case(blocks: int, missing: int) -> tuple[tuple[Any, ...], str, list[tuple[np.ndarray, np.ndarray]]]:
    out = np.zeros(blocks, np.int32)
    args = (np.zeros(1, np.int32), out, blocks, 1, missing)
    expected = np.arange(blocks, dtype=np.int32)[::-1]
    return args, "blocks: i32, rounds=1, missing: i32", [(out, expected)]


def look_back_case(blocks: int, missing: int) -> tuple[tuple[Any, ...], str, list[tuple[np.ndarray, np.ndarray]]]:
    x = np.random.default_rng(blocks).integers(-9, 9, blocks * ROW, np.int32)
    y, flags, partial, inclusive = np.zeros_like(x), *(np.zeros(blocks, np.int32) for _ in range(3))
    args = (flags, partial, inclusive, x, y, ROW, missing)
    return args, f"row={ROW}, missing: i32", [(y, np.cumsum(x, dtype=np.int32))]


def stream_k_case(blocks: int, missing: int) -> tuple[tuple[Any, ...], str, list[tuple[np.ndarray, np.ndarray]]]:
    size = 64
    random = np.random.default_rng(blocks)
    a = random.integers(-2, 3, (size, size * blocks)).astype(np.float16)
    b = random.integers(-2, 3, (size * blocks, size)).astype(np.float16)
    c, part = np.zeros((size, size), np.float32), np.zeros((size * blocks, size), np.float32)
    args = (a, b, c, part, np.zeros(blocks, np.int32), size, blocks, missing)
    constants = f"T={size}, blocks: i32, missing: i32"
    return args, constants, [(c, a.astype(np.float32) @ b.astype(np.float32))]


CASES = {
    grid_barrier: barrier_case,
    turnstile: turnstile_case,
    look_back: look_back_case,
    stream_k: stream_k_case,
}
KERNELS = list(CASES)


def line_of_wait(kernel: ct.Kernel) -> int:
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(index for index, line in enumerate(lines) if "while" in line)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_waits_end_with_the_right_values(kernel: ct.Kernel, target: str, blocks: int) -> None:
    for seed in SEEDS if blocks < 64 else SEEDS[1:2]:
        args, constants, results = CASES[kernel](blocks, -1)
        simulated(kernel, target, blocks, args, constants, seed)
        for result, expected in results:
            assert np.array_equal(result, expected)


@pytest.mark.parametrize("blocks", (3, 64))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_missing_arrival_is_a_deadlock_at_the_wait(kernel: ct.Kernel, target: str, blocks: int) -> None:
    """Block 1 does not arrive."""
    args, constants, _ = CASES[kernel](blocks, 1)
    with pytest.raises(SimulationError, match="deadlock") as caught:
        simulated(kernel, target, blocks, args, constants, 1)
    notes = [note.message for note in caught.value.notes]
    assert any(f"test_blocks_that_wait.py:{line_of_wait(kernel)})" in note for note in notes), notes


@pytest.mark.parametrize("kernel", [turnstile], ids=lambda kernel: kernel.name)
def test_interpreter_reports_a_wait_for_a_later_block(kernel: ct.Kernel) -> None:
    args, _, _ = CASES[kernel](3, -1)
    with pytest.raises(SimulationError):
        ct.launch(None, (3,), kernel, args, backend="interpret")


@ct.kernel
def endless(x, n: ct.Constant[int]):
    i = ct.zeros((), ct.int32)
    while i < n:
        i = i + ct.load(x, (0,), (1,)).item()
    ct.store(x, (0,), i)


@pytest.mark.parametrize("target", TARGETS)
def test_limit_of_a_launch_names_the_line_and_a_remedy(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", target)
    x = np.ones(1, np.int32)
    with pytest.raises(
        SimulationError, match=r"the run exceeds 0\.2 s: 0 of 1 clusters have ended; raise the limit"
    ) as caught:
        ct.launch(None, 1, endless, (x, 2**31 - 1), backend="simulate", limit_s=0.2)
    assert any("test_blocks_that_wait.py:" in note.message for note in caught.value.notes)
