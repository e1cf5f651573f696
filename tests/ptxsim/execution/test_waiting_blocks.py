"""Blocks that wait for other blocks: the simulator starts those, and reports a wait that cannot end with its lines."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

BLOCKS = (3, 5, 8, 64)
SEEDS = range(3)
# %rd1 is the address of the counter, of which each block has the next u32; %r0 is the thread, %r1 the block.
ENTER = "ld.param.u64 %rd1, [p0]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;\n"
ARRIVE = "@%p1 red.release.gpu.global.add.u32 [%rd1], 1;"
FIRST_THREAD = "setp.eq.u32 %p1, %r0, 0;"
# How threads wait until the counter has %r2: the loop, in which {more} stands once.
WAITS = {
    "load": "w: ld.acquire.gpu.global.u32 %r3, [%rd1]; {more} setp.lt.u32 %p2, %r3, %r2; @%p2 bra w;",
    "atomic": "w: atom.acquire.gpu.global.add.u32 %r3, [%rd1], 0; {more} setp.lt.u32 %p2, %r3, %r2; @%p2 bra w;",
    "broadcast": ".shared .b32 x; w: bar.sync 0; @%p1 ld.acquire.gpu.global.u32 %r3, [%rd1];"
    "@%p1 st.shared.u32 [x], %r3; bar.sync 0; ld.shared.u32 %r3, [x]; {more} setp.lt.u32 %p2, %r3, %r2; @%p2 bra w;",
    # The shared memory of the broadcast has two values in turn.
    "two broadcasts": ".shared .b32 x; w: bar.sync 0; @%p1 ld.acquire.gpu.global.u32 %r3, [%rd1];"
    "@%p1 st.shared.u32 [x], %r3; bar.sync 0; ld.shared.u32 %r3, [x]; bar.sync 0; @%p1 st.shared.u32 [x], 1000;"
    "bar.sync 0; ld.shared.u32 %r4, [x]; {more} setp.lt.u32 %p2, %r3, %r2; setp.gt.and.u32 %p2, %r4, 9, %p2;"
    "@%p2 bra w;",
    "barrier.red": "w: @%p1 ld.acquire.gpu.global.u32 %r3, [%rd1]; @!%p1 mov.u32 %r3, 1000;"
    "{more} setp.lt.u32 %p2, %r3, %r2; bar.red.or.pred %p2, 0, %p2; @%p2 bra w;",
}  # fmt: skip
MORE = {
    "plain": "",
    "counts": "add.u32 %r5, %r5, 1;",
    "clock": "mov.u32 %r5, %clock; add.u32 %r6, %r5, 1;",
    "clock64": "mov.u64 %rd5, %clock64;",
    "timer": "mov.u64 %rd5, %globaltimer;",
    "nanosleep": "nanosleep.u32 100;",
    "backoff": "nanosleep.u32 %r5; add.u32 %r5, %r5, %r5; min.u32 %r5, %r5, 1024;",
    "backoff by a clock": "mov.u32 %r5, %clock; b: mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r5; setp.lt.u32 %p3, %r6, 9;"
    "@%p3 bra b;",
    "delay loop": "mov.u32 %r5, 0; b: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 7; @%p3 bra b;",
}
COUNT_STORE = "@%p1 st.global.u32 [%rd1 + 4], %r5;"


def body(wait: str, more: str, arrive: str = ARRIVE) -> str:
    """Each block arrives and waits; then it stores its number plus 1."""
    return (
        f"{ENTER} mov.u32 %r3, 0; mov.u32 %r5, 1; {FIRST_THREAD} {arrive}\n{WAITS[wait].format(more=MORE[more])}\n"
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; add.u32 %r1, %r1, 1; @%p1 st.global.u32 [%rd2+4], %r1;"
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("wait", WAITS)
def test_grid_barrier_ends(simulate, wait, blocks, seed):
    memory = np.zeros(1 + blocks, np.uint32)
    simulate(body(wait, "plain"), memory, grid=blocks, block=64, seed=seed)
    assert memory.tolist() == [blocks, *range(1, blocks + 1)]


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("wait", WAITS)
def test_grid_barrier_with_other_loops_ends(simulate, wait, more):
    memory = np.zeros(6, np.uint32)
    simulate(body(wait, more), memory, grid=5, block=64, seed=1)
    assert memory.tolist() == [5, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("blocks", (1, 3, 64))
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("wait", WAITS)
def test_missing_arrival_is_a_deadlock(simulate, wait, more, blocks):
    """The last block does not arrive."""
    arrive = "sub.u32 %r7, %r2, 1; setp.lt.and.u32 %p4, %r1, %r7, %p1; @%p4 red.release.gpu.global.add.u32 [%rd1], 1;"
    begin = time.process_time()
    with pytest.raises(_native.Trap) as caught:
        simulate(body(wait, more, arrive), np.zeros(1 + blocks, np.uint32), grid=blocks, block=64, seed=2)
    assert caught.value.kind == "deadlock"
    notes = caught.value.notes
    assert all("at line" in note for note in notes)
    if blocks == 64:
        assert len(notes) < 10 and sum(int(note.split(" warp")[0]) for note in notes) == 2 * blocks
        assert any(
            re.search(r"blocks, (\(\d+, 0, 0\),? ){4}and \d+ more, wait at line \d+: \w+", note) for note in notes
        )
    assert time.process_time() - begin < (1 if blocks < 64 else 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_count_that_is_stored_after_the_loop_does_not_decide_it(simulate, seed):
    """The loop repeats itself whatever is done with the count of its iterations later."""
    text = body("load", "counts", arrive="") + COUNT_STORE
    with pytest.raises(_native.Trap) as caught:
        simulate(text, np.zeros(3, np.uint32), grid=2, block=32, seed=seed)
    assert caught.value.kind == "deadlock"


# (what the loop does until it ends, in one thread of each block); none of them writes memory for long.
ENDING = {
    "count of tries": "w: ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r5, %r5, 1; setp.eq.u32 %p2, %r3, 0;"
    "setp.lt.and.u32 %p2, %r5, 100000, %p2; @%p2 bra w;",
    "timeout": "mov.u32 %r5, %clock; w: ld.volatile.global.u32 %r3, [%rd1]; mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r5;"
    "setp.eq.u32 %p2, %r3, 0; setp.lt.and.u32 %p2, %r6, 100000, %p2; @%p2 bra w;",
    "timeout by a branch": "mov.u64 %rd5, %globaltimer; w: ld.volatile.global.u32 %r3, [%rd1];"
    "mov.u64 %rd6, %globaltimer; sub.u64 %rd6, %rd6, %rd5; setp.gt.u64 %p3, %rd6, 100000; @%p3 bra e;"
    "setp.eq.u32 %p2, %r3, 0; @%p2 bra w; e:",
    "timeout with backoff": "mov.u32 %r5, %clock; w: ld.volatile.global.u32 %r3, [%rd1]; mov.u32 %r7, %clock;"
    "b: mov.u32 %r6, %clock; sub.u32 %r4, %r6, %r7; setp.lt.u32 %p3, %r4, 30; @%p3 bra b; sub.u32 %r6, %r6, %r5;"
    "setp.eq.u32 %p2, %r3, 0; setp.lt.and.u32 %p2, %r6, 100000, %p2; @%p2 bra w;",
    "carry": "mov.u32 %r6, 0; w: add.cc.u32 %r5, %r5, 50000; addc.u32 %r6, %r6, 0; setp.eq.u32 %p2, %r6, 0;"
    "@%p2 bra w;",
    "address": "mov.u64 %rd4, %rd1; add.u64 %rd5, %rd1, 240000; w: ld.global.u32 %r3, [%rd4]; add.u64 %rd4, %rd4, 4;"
    "setp.ne.u64 %p2, %rd4, %rd5; @%p2 bra w;",
}  # fmt: skip


@pytest.mark.parametrize("block", (32, 128))
@pytest.mark.parametrize("case", ENDING)
def test_loop_that_ends_is_not_a_deadlock(simulate, case, block):
    memory = np.zeros(60_000, np.uint32)
    simulate(
        f"{ENTER} mov.u32 %r5, 1; {ENDING[case]} add.u32 %r1, %r1, 1; mul.wide.u32 %rd2, %r1, 4;"
        "add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r1;",
        memory,
        grid=2,
        block=block,
    )
    assert memory[1:3].tolist() == [1, 2]


def test_blocks_that_the_device_cannot_hold_are_a_deadlock(simulate):
    """227 KiB of shared memory: one block per SM, of which an H100 has 132."""
    blocks = 140
    with pytest.raises(_native.Trap) as caught:
        simulate(
            body("load", "plain"), np.zeros(1 + blocks, np.uint32), grid=blocks, block=32, shared_bytes=225 * 1024,
            target="sm_90a",
        )  # fmt: skip
    assert caught.value.kind == "deadlock"
    note = "the other 8 of 140 clusters cannot start: the device holds at most 132 at the same time"
    assert note in caught.value.notes


def test_cluster_barrier_in_the_loop(simulate):
    """Both blocks of a cluster wait for another cluster; without its arrival it is a deadlock."""
    loop = (
        "w: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.acquire.gpu.global.u32 %r3, [%rd1];"
        "setp.lt.u32 %p2, %r3, %r4; @%p2 bra w;"
    )
    for expected, ends in (("%r2", True), ("1000", False)):
        text = f"{ENTER} mov.u32 %r4, {expected}; {FIRST_THREAD} {ARRIVE} {loop}"
        memory = np.zeros(1, np.uint32)
        if ends:
            simulate(text, memory, grid=12, block=64, cluster=2)
            assert memory[0] == 12
            continue
        with pytest.raises(_native.Trap) as caught:
            simulate(text, memory, grid=12, block=64, cluster=2)
        assert caught.value.kind == "deadlock"


def test_lock_that_changes_memory_lets_other_blocks_start(simulate):
    """Two blocks take a lock in turn until a later block has set a flag."""
    text = (
        f"{ENTER} setp.ne.u32 %p3, %r1, 2; @%p3 bra w; st.volatile.global.u32 [%rd1+4], 1; bra e;"
        "w: atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra w;"
        "ld.volatile.global.u32 %r4, [%rd1+4]; atom.release.gpu.global.exch.b32 %r5, [%rd1], 0;"
        "setp.eq.u32 %p2, %r4, 0; @%p2 bra w; e:"
    )
    memory = np.zeros(2, np.uint32)
    simulate(text, memory, grid=3, block=1)
    assert memory.tolist() == [0, 1]


def test_time_limit_names_the_lines(simulate):
    text = f"{ENTER} mov.u32 %r5, 0; w: add.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra w;"
    begin = time.monotonic()
    with pytest.raises(_native.Trap) as caught:
        simulate(text, np.zeros(1, np.uint32), grid=5, block=32, time_limit_s=0.5)
    assert (caught.value.kind, time.monotonic() - begin < 20) == ("time-limit", True)
    assert "the run exceeds 0.5 s: 0 of 5 clusters have ended" in caught.value.message
    assert any("waits at line" in note for note in caught.value.notes)


def test_progress_counts_the_blocks_that_have_ended(simulate):
    text = f"{ENTER} mov.u32 %r5, 0; w: add.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 3000; @%p2 bra w;"
    reports: list[tuple[int, int]] = []
    observe = {"progress": lambda *counts: reports.append(counts)}
    simulate(text, np.zeros(1, np.uint32), grid=600, block=32, cluster=2, **observe)
    ended = [count for count, _ in reports]
    assert {total for _, total in reports} == {600}
    assert ended == sorted(ended) and 0 < ended[-1] <= 600 and all(count % 2 == 0 for count in ended)
