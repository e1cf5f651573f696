"""The constants of the cost model: one row per quantity, with its value on each device, certainty and source.

A cycle is a cycle of the SM clock. Rates are those of one SM unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

B200, H200, H100 = "B200", "H200", "H100"
# The device whose constants predict kernels of a target.
DEVICE_OF_TARGET = {"sm_100a": B200, "sm_90a": H200}

VENDOR, MEASURED, DERIVED, ASSUMED = "vendor", "measured", "derived", "assumed"
CERTAINTIES = {
    VENDOR: "NVIDIA's data sheets and manuals",
    MEASURED: "published measurement by the named source",
    DERIVED: "computed from vendor figures or published measurements",
    ASSUMED: "no trustworthy measurement of this device is public",
}


@dataclass(frozen=True)
class Constant:
    """The value of a quantity on one device.

    Attributes:
        value: the value, in the unit of its row.
        certainty: a key of CERTAINTIES.
        source: who states or measured it.
    """

    value: float
    certainty: str
    source: str


@dataclass(frozen=True)
class Row:
    """A quantity with its values, by device."""

    name: str
    unit: str
    meaning: str
    values: Mapping[str, Constant]


def _same(value: float, certainty: str, source: str) -> dict[str, Constant]:
    return dict.fromkeys((B200, H200, H100), Constant(value, certainty, source))


def _each(blackwell: Constant, hopper: Constant, h100: Constant | None = None) -> dict[str, Constant]:
    return {B200: blackwell, H200: hopper, H100: h100 or hopper}


def _vendor(value: float, source: str) -> Constant:
    return Constant(value, VENDOR, source)


def _measured(value: float, source: str) -> Constant:
    return Constant(value, MEASURED, source)


def _probed(value: float, note: str = "") -> Constant:
    return _measured(value, f"PROBES{': ' * bool(note)}{note}")


def _derived(value: float, source: str) -> Constant:
    return Constant(value, DERIVED, source)


def _assumed(value: float, source: str) -> Constant:
    return Constant(value, ASSUMED, source)


# Sources by their short names; docs/cost_model.md lists them.
SOURCES = {
    "SEMI": "SemiAnalysisAI/microbench-blackwell, on B200",
    "QRC": "ademeure/QuickRunCUDA, B300_PIPE_CATALOG.md, on B300",
    "META": "facebookexperimental/triton, latency model of the modulo scheduler, on B200",
    "TILESIGHT": "TileSight, micro-benchmarks on H200",
    "CUTILE-RS": "NVlabs/cutile-rs, cutile-benchmarks/paper, on B200",
    "QUACK": "Dao-AILab/quack, on H100",
    "PROBES": "benchmarks/hopper/constants.py, on H200; all figures in benchmarks/results/h200.md",
    "2402.13499": "arXiv 2402.13499, micro-benchmarks of Hopper",
    "PTX ISA": "NVIDIA, Parallel Thread Execution ISA 9.0",
    "guide": "NVIDIA, CUDA C++ programming guide",
    "data sheet": "NVIDIA, data sheets of B200, H200 SXM and H100 SXM",
}

ROWS = (
    # The chip.
    Row(
        "processors",
        "SMs",
        "SMs of the chip",
        _each(_vendor(148, "data sheet"), _vendor(132, "data sheet")),
    ),
    Row(
        "clock_ghz",
        "GHz",
        "boost clock of the SMs",
        _each(_vendor(1.85, "data sheet"), _vendor(1.83, "data sheet"), _vendor(1.83, "data sheet")),
    ),
    Row(
        "hbm_terabytes_per_second",
        "TB/s",
        "largest sustained bandwidth of HBM",
        _each(
            _measured(7.2, "SEMI: 7.0 to 7.26; CUTILE-RS: 7.02 of 7.67 nominal"),
            _probed(4.2, "reads 4.58, copies 3.98"),
            _measured(3.0, "QUACK: 3.0 of 3.35 nominal"),
        ),
    ),
    Row(
        "l2_megabytes",
        "MB",
        "L2 cache",
        _each(_vendor(126, "data sheet"), _vendor(50, "data sheet")),
    ),
    Row(
        "l2_bytes_per_cycle",
        "bytes/cycle",
        "from L2 into one SM if all SMs load",
        _each(
            _derived(71, "20.5 TB/s by TMA on B300 (QRC), over the SMs and the clock of its measurement"),
            _derived(52, "a GEMM whose operands several SMs read; 38 where each reads other lines (PROBES, TILESIGHT)"),
        ),
    ),
    Row(
        "launch_microseconds",
        "us",
        "from the launch by a stream until the first block runs, and its end",
        _each(_measured(2.0, "QRC: 1.8 to 2.05"), _probed(1.4, "end to start; 1.26 between empty kernels")),
    ),
    Row(
        "graph_launch_microseconds",
        "us",
        "the same as a node of a CUDA graph",
        _each(_measured(0.56, "QRC"), _probed(0.55)),
    ),
    Row(
        "block_start_cycles",
        "cycles",
        "from the end of a block until the next one executes",
        _each(_assumed(1038, "QRC, unit not clear"), _probed(325)),
    ),
    # What one SM holds.
    Row("shared_kilobytes", "KB", "shared memory of an SM", _same(228, VENDOR, "guide")),
    Row("registers", "registers", "32-bit registers of an SM", _same(65536, VENDOR, "guide")),
    Row("warps", "warps", "resident warps of an SM", _same(64, VENDOR, "guide")),
    Row("resident_blocks", "blocks", "resident blocks of an SM", _same(32, VENDOR, "guide")),
    Row(
        "tensor_memory_columns",
        "columns",
        "columns of tensor memory of an SM",
        _each(_vendor(512, "PTX ISA"), _vendor(0, "PTX ISA")),
    ),
    # Tensor pipe.
    Row(
        "tensor_rows",
        "rows",
        "rows of the accumulator that an instruction covers in one SM: tcgen05.mma 128, wgmma 64",
        _each(_vendor(128, "PTX ISA"), _vendor(64, "PTX ISA")),
    ),
    Row(
        "tensor_operand_bytes",
        "bytes",
        "bytes of a row of A along K that an instruction reads",
        _same(32, VENDOR, "PTX ISA"),
    ),
    Row(
        "tensor_columns_per_cycle",
        "columns/cycle",
        "columns N of an instruction over its least issue interval",
        _each(
            _measured(2, "SEMI, QRC: interval N/2 for each type"),
            _derived(2, "989 TFLOP/s of the data sheet: 4096 FLOP per cycle"),
        ),
    ),
    Row(
        "multiply_latency_cycles",
        "cycles",
        "from the last multiply to its observed completion, beyond its interval; operands in shared memory",
        _each(_measured(136, "SEMI"), _probed(60, "55 to 66")),
    ),
    Row(
        "pair_multiply_latency_cycles",
        "cycles",
        "the same for cta_group::2",
        _each(_measured(170, "SEMI"), _vendor(0, "PTX ISA: not on this target")),
    ),
    Row(
        "tensor_memory_multiply_latency_cycles",
        "cycles",
        "the same with A in tensor memory; wgmma: in registers",
        _each(_measured(104, "SEMI"), _probed(50, "46 to 56")),
    ),
    Row(
        "mma_sync_multiply_adds_per_cycle",
        "multiply-adds/cycle",
        "16-bit multiply-adds by mma.sync",
        _each(_assumed(1024, "rate of earlier devices"), _probed(1348, "8 warps; 1186 with 4")),
    ),
    # Memories of one SM.
    Row(
        "shared_bytes_per_cycle", "bytes/cycle", "port of shared memory, reads and writes", _same(128, VENDOR, "guide")
    ),
    Row(
        "shared_write_share",
        "1",
        "share of the bytes that TMA writes to shared memory which take the port from multiplies",
        _each(
            _assumed(1, "not measured: 0 or 1; 1 agrees with the step times of tutorials of Gluon"),
            _probed(0, "106 bytes/cycle of copies beside multiplies that read 128"),
        ),
    ),
    Row(
        "tensor_memory_read_bytes_per_cycle",
        "bytes/cycle",
        "tcgen05.ld by four warps",
        _each(_measured(256, "QRC, META: 210 to 256"), _vendor(0, "PTX ISA: not on this target")),
    ),
    Row(
        "tensor_memory_write_bytes_per_cycle",
        "bytes/cycle",
        "tcgen05.st by four warps",
        _each(_measured(470, "META, QRC"), _vendor(0, "PTX ISA: not on this target")),
    ),
    Row(
        "tensor_memory_allocation_cycles",
        "cycles",
        "tcgen05.alloc and dealloc, each",
        _each(_measured(245, "QRC: 195 to 253"), _vendor(0, "PTX ISA: not on this target")),
    ),
    # TMA.
    Row(
        "tma_issue_cycles",
        "cycles",
        "between two copies of an SM",
        _each(_measured(30, "META"), _probed(15, "copies of 16 to 1024 bytes")),
    ),
    Row(
        "tma_l2_latency_cycles",
        "cycles",
        "latency of a load that L2 holds",
        _each(_measured(460, "META"), _probed(315)),
    ),
    Row(
        "tma_dram_latency_cycles",
        "cycles",
        "latency of a load from DRAM",
        _each(_measured(900, "SEMI: 458 ns for 512 bytes"), _probed(750)),
    ),
    Row(
        "tma_cycles_per_kilobyte",
        "cycles/KB",
        "further latency per KB",
        _each(_measured(6, "META"), _probed(9, "from L2; 24 from DRAM")),
    ),
    Row(
        "tma_further_copy_cycles",
        "cycles",
        "further latency of the second and third copy on a barrier",
        _each(_measured(240, "META"), _probed(10, "beyond the transfer")),
    ),
    Row(
        "tma_store_latency_cycles",
        "cycles",
        "latency of a store beyond its transfer",
        _each(_measured(130, "META"), _probed(51)),
    ),
    # Loads of threads.
    Row(
        "load_dram_latency_cycles",
        "cycles",
        "ld.global from DRAM",
        _each(_measured(789, "QRC"), _probed(667)),
    ),
    Row(
        "load_l2_latency_cycles",
        "cycles",
        "ld.global that L2 holds",
        _each(_measured(300, "QRC"), _probed(280)),
    ),
    # Synchronization.
    Row(
        "barrier_latency_cycles",
        "cycles",
        "from the arrival at an mbarrier to the wake of its waiter",
        _each(_measured(92, "META; QRC: 54 to 123"), _probed(45)),
    ),
    Row(
        "named_barrier_cycles",
        "cycles",
        "named barrier of two roles, one way",
        _each(_measured(30, "META"), _probed(30)),
    ),
    Row(
        "block_barrier_cycles",
        "cycles",
        "bar.sync without its warps",
        _each(_measured(22, "QRC"), _probed(12)),
    ),
    Row(
        "block_barrier_cycles_per_warp",
        "cycles",
        "further cycles of bar.sync per warp",
        _each(_measured(2, "QRC"), _probed(2)),
    ),
    Row(
        "proxy_fence_cycles",
        "cycles",
        "fence.proxy.async of shared memory",
        _each(_measured(36, "QRC"), _probed(18, "4 warps; 43 with 8")),
    ),
    Row(
        "cluster_barrier_cycles",
        "cycles",
        "barrier.cluster",
        _each(_measured(370, "QRC"), _probed(336)),
    ),
    # Instructions of warps.
    Row(
        "warp_instructions_per_cycle",
        "instructions/cycle",
        "issue slots of the four schedulers",
        _same(4, VENDOR, "guide"),
    ),
    Row(
        "fma_per_cycle",
        "operations/cycle",
        "32-bit float multiply-adds, additions and multiplies",
        _same(128, VENDOR, "guide"),
    ),
    Row(
        "alu_per_cycle",
        "operations/cycle",
        "comparisons, minima, integer and logic operations",
        _same(64, VENDOR, "guide"),
    ),
    Row("exponentials_per_cycle", "operations/cycle", "MUFU: ex2, rcp, rsqrt, lg2", _same(16, VENDOR, "guide")),
    Row("shuffles_per_cycle", "operations/cycle", "threads that shuffle", _same(32, VENDOR, "guide")),
    Row(
        "floats_per_instruction",
        "operations",
        "additions, multiplies and multiply-adds of f32 by an instruction",
        _each(_vendor(2, "PTX ISA"), _vendor(1, "PTX ISA")),
    ),
    Row(
        "comparisons_per_instruction",
        "operations",
        "maxima or minima of f32 by an instruction",
        _each(_vendor(2, "PTX ISA"), _vendor(1, "PTX ISA")),
    ),
    Row(
        "independent_instructions",
        "instructions",
        "instructions of a warp that do not wait for each other",
        _same(2, ASSUMED, "not measured"),
    ),
    Row(
        "dependent_issue_cycles",
        "cycles",
        "from an instruction of a warp to one that uses its result",
        _each(_measured(4.2, "QRC"), _probed(4.0)),
    ),
)

# The bandwidth of HBM as a fraction of the largest, by the bytes that each SM of B200 has in flight (SEMI).
BANDWIDTH_BY_KILOBYTES_IN_FLIGHT = (
    (0.0, 0.0),
    (0.5, 0.024),
    (4.0, 0.16),
    (8.0, 0.30),
    (16.0, 0.50),
    (32.0, 0.78),
    (64.0, 0.99),
    (128.0, 1.0),
)


@dataclass(frozen=True)
class Device:
    """The constants of a device; each attribute is the row of this name."""

    name: str
    processors: float
    clock_ghz: float
    hbm_terabytes_per_second: float
    l2_megabytes: float
    l2_bytes_per_cycle: float
    launch_microseconds: float
    graph_launch_microseconds: float
    block_start_cycles: float
    shared_kilobytes: float
    registers: float
    warps: float
    resident_blocks: float
    tensor_memory_columns: float
    tensor_rows: float
    tensor_operand_bytes: float
    tensor_columns_per_cycle: float
    multiply_latency_cycles: float
    pair_multiply_latency_cycles: float
    tensor_memory_multiply_latency_cycles: float
    mma_sync_multiply_adds_per_cycle: float
    shared_bytes_per_cycle: float
    shared_write_share: float
    tensor_memory_read_bytes_per_cycle: float
    tensor_memory_write_bytes_per_cycle: float
    tensor_memory_allocation_cycles: float
    tma_issue_cycles: float
    tma_l2_latency_cycles: float
    tma_dram_latency_cycles: float
    tma_cycles_per_kilobyte: float
    tma_further_copy_cycles: float
    tma_store_latency_cycles: float
    load_dram_latency_cycles: float
    load_l2_latency_cycles: float
    barrier_latency_cycles: float
    named_barrier_cycles: float
    block_barrier_cycles: float
    block_barrier_cycles_per_warp: float
    proxy_fence_cycles: float
    cluster_barrier_cycles: float
    warp_instructions_per_cycle: float
    fma_per_cycle: float
    alu_per_cycle: float
    exponentials_per_cycle: float
    shuffles_per_cycle: float
    floats_per_instruction: float
    comparisons_per_instruction: float
    independent_instructions: float
    dependent_issue_cycles: float

    @property
    def hbm_bytes_per_cycle(self) -> float:
        """The share of one SM in the largest bandwidth of HBM."""
        return self.hbm_terabytes_per_second * 1e3 / self.clock_ghz / self.processors


DEVICES = {name: Device(name, **{row.name: row.values[name].value for row in ROWS}) for name in (B200, H200, H100)}


def device_of(target: str) -> Device:
    """The device whose constants predict kernels of the target, "sm_100a" or "sm_90a"."""
    return DEVICES[DEVICE_OF_TARGET[target]]


def as_markdown() -> str:
    """The rows as the table of docs/cost_model.md; devices with equal entries share a line."""
    lines = ["| constant | unit | device | value | certainty | source |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        devices: dict[Constant, list[str]] = {}
        for name, constant in row.values.items():
            devices.setdefault(constant, []).append(name)
        for constant, names in devices.items():
            named = f"`{row.name}`: {row.meaning}" if B200 in names else f"`{row.name}`"
            cells = (named, row.unit, ", ".join(names), f"{constant.value:g}", constant.certainty, constant.source)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
