"""The measurements of the cost model's constants: each launches probes and yields rows of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from machine import Launch, Machine
from probes import COLUMNS, PROBES
from probes.bandwidth import L2_REGION_BYTES, RING_SLOT_BYTES, RING_SLOTS, STREAM_THREADS, VECTORS_PER_THREAD
from probes.memory_latency import BOX_BYTES, SOURCE_STRIDE
from probes.multiplies import IDLE

ROUNDS = 16
KILOBYTE = 1024


@dataclass(frozen=True)
class Measured:
    """A measured quantity.

    Attributes:
        name: of the constant that follows from it.
        detail: under which conditions.
        unit: of the values.
        values: of the repeats.
    """

    name: str
    detail: str
    unit: str
    values: Sequence[float]


Rows = Iterator[Measured]


def _per_operation(machine: Machine, probe: str, launch: Launch, inner: tuple[int, int]) -> np.ndarray:
    """Cycles of an operation in each round: the difference of two numbers of iterations."""
    first, second = (machine.durations(probe, replace(launch, inner=count)) for count in inner)
    return (second - first) / ((inner[1] - inner[0]) * PROBES[probe].operations)


def _line(sizes: Sequence[float], cycles: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Slope and intercept of the cycles over the sizes, in each round."""
    slope, intercept = np.polyfit(np.array(sizes), np.array(cycles), 1)
    return slope, intercept


# --- Launches -------------------------------------------------------------------------------------------------------

_LAUNCHES = 200


def clock(machine: Machine) -> Rows:
    """Cycles of one thread over the nanoseconds of %globaltimer."""
    hundreds = 100_000
    rates = []
    for _ in range(3):
        machine.start("timer", Launch(inner=hundreds))
        start, end = machine.read(2).astype(np.int64)
        rates.append(100 * hundreds / max(1, end - start))
    yield Measured("clock_ghz", "one thread", "GHz", rates)


def launches(machine: Machine) -> Rows:
    """Intervals by events, and from the end of a kernel to the start of the next one by %globaltimer."""
    for grid, threads in ((1, 32), (machine.processors, 384)):
        launch = Launch(grid=grid, threads=threads)
        for graph, name in ((False, "launch_microseconds"), (True, "graph_launch_microseconds")):
            shape = f"{grid} x {threads} threads"
            for count in (1, _LAUNCHES):
                times = machine.milliseconds("empty", [launch] * count, 10, graph)
                detail = f"interval of {count} empty kernels, {shape}"
                yield Measured(name, detail, "us", [1e3 * time / count for time in times])
    for graph, name in ((False, "launch_microseconds"), (True, "graph_launch_microseconds")):
        machine.milliseconds("timer", [Launch(inner=50, size=i) for i in range(_LAUNCHES)], 2, graph)
        times = machine.read(2 * _LAUNCHES).astype(np.int64).reshape(_LAUNCHES, 2)
        gaps = times[1:, 0] - times[:-1, 1]
        yield Measured(name, "end of a kernel to start of the next, %globaltimer", "us", gaps / 1e3)


def block_starts(machine: Machine) -> Rows:
    """From the end of a block to the start of the next one on its SM."""
    for kilobytes in (1, 100, 200):
        grid = 6 * machine.processors
        launch = machine.limited(Launch(grid=grid, inner=100, shared_bytes=kilobytes * KILOBYTE))
        machine.start("block_starts", launch)
        machine.start("block_starts", launch)
        blocks = machine.read(3 * launch.grid).astype(np.int64).reshape(launch.grid, 3)
        gaps = []
        for processor in np.unique(blocks[:, 0]):
            own = blocks[blocks[:, 0] == processor]
            own = own[own[:, 1].argsort()]
            gaps += list(own[1:, 1] - own[:-1, 2])
        yield Measured("block_start_cycles", f"384 threads, {kilobytes} KB shared", "cycles", gaps or [0])


# --- Instructions of warps ------------------------------------------------------------------------------------------


def _throughput(machine: Machine, probe: str, warps: int) -> np.ndarray:
    cycles = _per_operation(machine, probe, Launch(ROUNDS, threads=32 * warps), (2, 10))
    return 32 * warps / np.maximum(cycles, 1e-9)


def chains(machine: Machine) -> Rows:
    """Multiply-adds in chains, by warps."""
    cycles = _per_operation(machine, "fma_chains_1", Launch(ROUNDS), (2, 10))
    yield Measured("dependent_issue_cycles", "fma, one warp", "cycles", cycles)
    for warps in (1, 4, 8, 12, 16):
        for count in (1, 2, 4, 8):
            rate = _throughput(machine, f"fma_chains_{count}", warps) / 32
            detail = f"{count} chains of fma per warp, {warps} warps"
            yield Measured("independent_instructions", detail, "instructions/cycle", rate)
    yield Measured("fma_per_cycle", "8 chains, 16 warps", "operations/cycle", _throughput(machine, "fma_chains_8", 16))


def units(machine: Machine) -> Rows:
    """Rates of exponentials, shuffles, logic and maxima."""
    probes = (
        ("exponentials_per_cycle", "exponentials_4", "operations/cycle"),
        ("shuffles_per_cycle", "shuffles_4", "operations/cycle"),
        ("alu_per_cycle", "logic_4", "operations/cycle"),
        ("alu_per_cycle", "maxima_4", "operations/cycle"),
    )
    for name, probe, unit in probes:
        for warps in (4, 8, 16):
            yield Measured(name, f"{probe}, {warps} warps", unit, _throughput(machine, probe, warps))
    for name, probe in (("exponentials_per_cycle", "exponentials_1"), ("shuffles_per_cycle", "shuffles_1")):
        cycles = _per_operation(machine, probe, Launch(ROUNDS), (2, 10))
        yield Measured(name, "latency of one chain, one warp", "cycles", cycles)
    for warps in (4, 8):
        rate = 2048 * _throughput(machine, "warp_multiplies", warps) / 32
        yield Measured("mma_sync_multiply_adds_per_cycle", f"8 chains, {warps} warps", "multiply-adds/cycle", rate)


# --- Synchronization ------------------------------------------------------------------------------------------------


def barriers(machine: Machine) -> Rows:
    """Barriers of a block: mbarriers, named ones, bar.sync, and the fence of the asynchronous proxy."""
    ways = (
        ("barrier_latency_cycles", "mbarrier_exchange", "one way between two warps, one thread arrives"),
        ("barrier_latency_cycles", "mbarrier_exchange_all", "one way between two warps, 32 threads arrive"),
        ("named_barrier_cycles", "named_exchange", "one way between two warpgroups"),
    )
    for name, probe, detail in ways:
        yield Measured(name, detail, "cycles", _per_operation(machine, probe, Launch(ROUNDS), (4, 20)))
    for probe, detail in (("proxy_fences", ""), ("proxy_fences_after_stores", ", each after st.shared")):
        for warps in (1, 4, 8):
            cycles = _per_operation(machine, probe, Launch(ROUNDS, threads=32 * warps), (4, 20))
            yield Measured("proxy_fence_cycles", f"{warps} warps{detail}", "cycles", cycles)
    counts = (1, 2, 4, 8, 12, 16)
    cycles = []
    for warps in counts:
        cycles.append(_per_operation(machine, "block_barriers", Launch(ROUNDS, threads=32 * warps), (2, 10)))
        yield Measured("block_barrier_cycles", f"{warps} warps, all of it", "cycles", cycles[-1])
    slope, intercept = _line(counts, cycles)
    yield Measured("block_barrier_cycles", "intercept over 1 to 16 warps", "cycles", intercept)
    yield Measured("block_barrier_cycles_per_warp", "slope over 1 to 16 warps", "cycles", slope)


def cluster_barriers(machine: Machine) -> Rows:
    """barrier.cluster by clusters of two and four blocks."""
    for cluster in (2, 4):
        for order, suffix in (("release", ""), ("relaxed", "_relaxed")):
            launch = Launch(ROUNDS, grid=cluster)
            cycles = _per_operation(machine, f"cluster_barriers_{cluster}{suffix}", launch, (2, 10))
            detail = f"cluster of {cluster}, 4 warps each, {order} arrival"
            yield Measured("cluster_barrier_cycles", detail, "cycles", cycles)


# --- Memory ---------------------------------------------------------------------------------------------------------


def load_latency(machine: Machine) -> Rows:
    """Chains of dependent loads: from L2 within 1 and 16 MB, and from DRAM within 64 MB."""
    rng = np.random.default_rng(1)
    launch = Launch(rounds=10, inner=8)
    loads = launch.inner * PROBES["pointer_chase"].operations
    regions = (
        ("load_l2_latency_cycles", 1 << 20, 128),
        ("load_l2_latency_cycles", 1 << 24, 4096),
        ("load_dram_latency_cycles", 1 << 26, 4096),
    )
    for name, region_bytes, node_bytes in regions:
        region_bytes = min(region_bytes, machine.data_bytes)
        # The list starts at the start of data.
        order = np.concatenate([[0], 1 + rng.permutation(region_bytes // node_bytes - 1)]) * (node_bytes // 8)
        words = np.zeros(region_bytes // 8, np.uint64)
        words[order] = machine.data + 8 * np.roll(order, -1)
        machine.write(words)
        machine.flush()
        cycles = machine.durations("pointer_chase", launch)
        if "l2" in name:
            cycles = machine.durations("pointer_chase", launch)
        yield Measured(name, f"list within {region_bytes >> 20} MB", "cycles", cycles / loads)
    machine.write(np.zeros(1 << 23, np.uint64)[: machine.data_bytes // 8])


def _copies(machine: Machine, probe: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Cycles of a set of copies that misses L2, and of one that hits it."""
    launch = machine.limited(Launch(ROUNDS, inner=8, size=size))
    sets = launch.inner * PROBES[probe].operations
    assert ROUNDS * sets * SOURCE_STRIDE <= machine.data_bytes
    machine.flush()
    miss = machine.durations(probe, launch) / sets
    machine.durations(probe, launch)
    return miss, machine.durations(probe, launch) / sets


def copy_latency(machine: Machine) -> Rows:
    """Copies of bytes and of boxes, one after the other, and up to four on one mbarrier."""
    sizes = (512, 1024, 2048, 4096, 8192, 16384)
    names = "tma_dram_latency_cycles", "tma_l2_latency_cycles"
    sources = dict(zip(names, ("DRAM", "L2"), strict=True))
    found = [_copies(machine, "copies_bytes_1", size) for size in sizes]
    for index, name in enumerate(names):
        for size, cycles in zip(sizes, found, strict=True):
            yield Measured(name, f"{size} bytes", "cycles", cycles[index])
        slope, intercept = _line([size / KILOBYTE for size in sizes], [cycles[index] for cycles in found])
        yield Measured(name, "intercept over the size", "cycles", intercept)
        yield Measured("tma_cycles_per_kilobyte", f"slope over the size, {sources[name]}", "cycles/KB", slope)
    for kind, size in (("boxes", BOX_BYTES), ("bytes", BOX_BYTES), ("bytes", KILOBYTE)):
        before: tuple[np.ndarray, ...] = ()
        for number in (1, 2, 3, 4):
            cycles = _copies(machine, f"copies_{kind}_{number}", size)
            for index, name in enumerate(names):
                yield Measured(name, f"{number} copies of {size} bytes, {kind}", "cycles", cycles[index])
                if before:
                    further = cycles[index] - before[index]
                    detail = f"copy {number} of {size} bytes, {kind}, {sources[name]}"
                    yield Measured("tma_further_copy_cycles", detail, "cycles", further)
            before = cycles


def copy_issue(machine: Machine) -> Rows:
    """Copies that nothing waits for in between."""
    for probe, size, inner in (
        ("issues_bytes", 16, (4, 16)),
        ("issues_bytes_same", 16, (4, 16)),
        ("issues_bytes", 128, (4, 16)),
        ("issues_bytes", 1024, (4, 16)),
        ("issues_bytes", BOX_BYTES, (2, 6)),
        ("issues_boxes", BOX_BYTES, (2, 6)),
        ("issues_boxes_same", BOX_BYTES, (2, 6)),
    ):
        launch = Launch(ROUNDS, size=size)
        one = machine.durations(probe, replace(launch, inner=1)) / PROBES[probe].operations
        yield Measured("tma_issue_cycles", f"{probe}, {size} bytes, first 16", "cycles", one)
        cycles = _per_operation(machine, probe, launch, inner)
        yield Measured("tma_issue_cycles", f"{probe}, {size} bytes, of many", "cycles", cycles)


def store_latency(machine: Machine) -> Rows:
    """Bulk stores until they have read their source, and until they are complete."""
    sizes = (1024, 2048, 4096, 8192, 16384)
    for probe, wait in (("stores_done", "wait_group"), ("stores_read", "wait_group.read")):
        found = []
        for size in sizes:
            launch = machine.limited(Launch(ROUNDS, inner=8, size=size))
            machine.durations(probe, launch)
            found.append(machine.durations(probe, launch) / (launch.inner * PROBES[probe].operations))
            yield Measured("tma_store_latency_cycles", f"{wait}, {size} bytes", "cycles", found[-1])
        slope, intercept = _line([size / KILOBYTE for size in sizes], found)
        yield Measured("tma_store_latency_cycles", f"{wait}, intercept", "cycles", intercept)
        yield Measured("tma_store_latency_cycles", f"{wait}, slope", "cycles/KB", slope)


# --- Tensor pipe ----------------------------------------------------------------------------------------------------


def multiply_rate(machine: Machine) -> Rows:
    """Columns per cycle of chains of wgmma by one and two warpgroups."""
    suffixes = [(columns, f"{columns}{suffix}") for suffix in ("", "_registers", "_fp8") for columns in COLUMNS]
    for columns, suffix in suffixes:
        for groups in (1, 2):
            launch = Launch(ROUNDS, threads=128 * groups)
            cycles = _per_operation(machine, f"multiply_chain_{suffix}", launch, (4, 20))
            rate = columns * groups / np.maximum(cycles, 1e-9)
            yield Measured("tensor_columns_per_cycle", f"64 x {suffix}, {groups} warpgroups", "columns/cycle", rate)


def multiply_latency(machine: Machine) -> Rows:
    """Groups of one and four wgmma, minus the intervals of their multiplies at two columns per cycle."""
    for kind, name in (
        ("", "multiply_latency_cycles"),
        ("_registers", "tensor_memory_multiply_latency_cycles"),
    ):
        for columns in COLUMNS:
            for count in (1, 4):
                probe = f"multiply_groups_{columns}{kind}_{count}"
                cycles = _per_operation(machine, probe, Launch(ROUNDS), (4, 20))
                yield Measured(name, f"64 x {columns}, groups of {count}", "cycles", cycles - count * columns / 2)


def write_share(machine: Machine) -> Rows:
    """Chains of two warpgroups with and without bulk copies from L2 into other shared memory."""
    for columns in COLUMNS:
        probe = f"share_{columns}"
        multiplies = PROBES[probe].operations
        intervals, rates = [], []
        for size in (IDLE, 1):
            launch = machine.limited(Launch(ROUNDS, inner=32, size=size))
            clocks = machine.records(probe, launch)[0].astype(np.int64)
            # In the last rounds the other warpgroup may have finished.
            rounds = clocks[min(2, len(clocks) - 1) :, :8]
            cycles = rounds[:, :, 1].max(axis=1) - rounds[:, :, 0].min(axis=1)
            # Both warpgroups make a multiply in an interval.
            intervals.append(cycles / (launch.inner * multiplies))
            copied, duration = clocks[0, 8]
            rates.append(copied / max(1, duration) if size != IDLE else 0)
            state = "with copies" if size != IDLE else "alone"
            detail = f"two of 64 x {columns} x 16, {state}"
            yield Measured("shared_write_share", detail, "cycles", intervals[-1])
        detail = f"copies beside 64 x {columns} x 16"
        yield Measured("shared_write_share", detail, "bytes/cycle", [rates[1]])
        read_bytes = 2 * 32 * (64 + columns)
        written = max(rates[1], 1e-9) * intervals[1]
        share = (128 * intervals[1] - read_bytes) / written
        yield Measured("shared_write_share", f"(128 I - {read_bytes}) / written, 64 x {columns} x 16", "1", share)
        growth = 128 * (intervals[1] - np.median(intervals[0])) / written
        yield Measured("shared_write_share", f"128 (I - I alone) / written, 64 x {columns} x 16", "1", growth)


# --- Bandwidth ------------------------------------------------------------------------------------------------------


def hbm(machine: Machine) -> Rows:
    """Terabytes per second of streams through 2 GB."""
    tile = STREAM_THREADS * 16 * VECTORS_PER_THREAD
    ring_bytes = RING_SLOTS * RING_SLOT_BYTES
    for probe, block_bytes, per_processor, copying in (
        ("stream_read", tile, 4, False),
        ("stream_copy", tile, 3, True),
        ("ring_hbm", ring_bytes, 1, False),
        ("ring_hbm_copy", ring_bytes, 1, True),
    ):
        grid = per_processor * machine.processors
        launch = Launch(grid=grid, inner=max(1, machine.data_bytes // (grid * block_bytes)))
        times = machine.milliseconds(probe, [launch], 8, large_out=copying)
        moved = (1 + copying) * grid * launch.inner * block_bytes
        detail = f"{probe}, {moved >> 20} MB"
        yield Measured("hbm_terabytes_per_second", detail, "TB/s", [moved / time / 1e9 for time in times])


def l2(machine: Machine) -> Rows:
    """Bytes per cycle and SM of bulk copies from 16 MB, by all SMs and by one."""
    assert machine.data_bytes >= L2_REGION_BYTES
    for grid in (machine.processors, 1):
        launch = machine.limited(Launch(grid=grid, inner=128))
        for _ in range(2):
            machine.start("ring_l2", launch)
        clocks = machine.read(2 * launch.grid).astype(np.int64).reshape(launch.grid, 2)
        moved = launch.inner * RING_SLOTS * RING_SLOT_BYTES
        rates = moved / np.maximum(1, clocks[:, 1] - clocks[:, 0])
        yield Measured("l2_bytes_per_cycle", f"{launch.grid} SMs", "bytes/cycle", rates)


MEASUREMENTS: tuple[Callable[[Machine], Rows], ...] = (
    clock,
    launches,
    block_starts,
    chains,
    units,
    load_latency,
    multiply_rate,
    multiply_latency,
    barriers,
    copy_latency,
    copy_issue,
    store_latency,
    hbm,
    l2,
    cluster_barriers,
    write_share,
)
