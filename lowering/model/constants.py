"""The quantities of the cost model, and the devices: the values of each are in the file with its name (b200.py).

A cycle is a cycle of the SM clock. Rates are those of one SM unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilec.lowering.model import b200, h100, h200
from tilec.lowering.model.constant import Constant
from tilec.lowering.target import target_named


@dataclass(frozen=True)
class Quantity:
    """A quantity, with the unit of its values."""

    name: str
    unit: str
    meaning: str


QUANTITIES = (
    # The chip.
    Quantity("processors", "SMs", "SMs of the chip"),
    Quantity("clock_ghz", "GHz", "boost clock of the SMs"),
    Quantity("hbm_terabytes_per_second", "TB/s", "largest sustained bandwidth of HBM"),
    Quantity("l2_megabytes", "MB", "L2 cache"),
    Quantity("l2_bytes_per_cycle", "bytes/cycle", "from L2 into one SM if all SMs load"),
    Quantity("launch_microseconds", "us", "from the launch by a stream until the first block runs, and its end"),
    Quantity("graph_launch_microseconds", "us", "the same as a node of a CUDA graph"),
    Quantity("block_start_cycles", "cycles", "from the end of a block until the next one executes"),
    # Capacities of one SM.
    Quantity("shared_kilobytes", "KB", "shared memory of an SM"),
    Quantity("registers", "registers", "32-bit registers of an SM"),
    Quantity("warps", "warps", "resident warps of an SM"),
    Quantity("resident_blocks", "blocks", "resident blocks of an SM"),
    Quantity("tensor_memory_columns", "columns", "columns of tensor memory of an SM"),
    # Tensor pipe.
    Quantity(
        "tensor_rows",
        "rows",
        "rows of the accumulator that an instruction covers in one SM: tcgen05.mma 128, wgmma 64",
    ),
    Quantity("tensor_operand_bytes", "bytes", "bytes of a row of A along K that an instruction reads"),
    Quantity("tensor_columns_per_cycle", "columns/cycle", "columns N of an instruction over its least issue interval"),
    Quantity(
        "multiply_latency_cycles",
        "cycles",
        "from the last multiply to its observed completion, beyond its interval; operands in shared memory",
    ),
    Quantity("pair_multiply_latency_cycles", "cycles", "the same for cta_group::2"),
    Quantity(
        "tensor_memory_multiply_latency_cycles",
        "cycles",
        "the same with A in tensor memory; wgmma: in registers",
    ),
    Quantity(
        "multiply_issue_cycles",
        "cycles",
        "issue of a multiply of multiply_issue_depth elements along K by its thread or warpgroup",
    ),
    Quantity("multiply_issue_depth", "elements", "16-bit elements along K of one issue; 0: of any number"),
    Quantity("mma_sync_multiply_adds_per_cycle", "multiply-adds/cycle", "16-bit multiply-adds by mma.sync"),
    # Memories of one SM.
    Quantity("shared_bytes_per_cycle", "bytes/cycle", "port of shared memory, reads and writes"),
    Quantity(
        "shared_write_share",
        "1",
        "share of the bytes that TMA writes to shared memory which take the port from multiplies",
    ),
    Quantity("tensor_memory_read_bytes_per_cycle", "bytes/cycle", "tcgen05.ld by four warps"),
    Quantity("tensor_memory_write_bytes_per_cycle", "bytes/cycle", "tcgen05.st by four warps"),
    Quantity("tensor_memory_allocation_cycles", "cycles", "tcgen05.alloc and dealloc, each"),
    # TMA.
    Quantity("tma_issue_cycles", "cycles", "between two copies of an SM"),
    Quantity("tma_l2_latency_cycles", "cycles", "latency of a load that L2 holds"),
    Quantity("tma_dram_latency_cycles", "cycles", "latency of a load from DRAM"),
    Quantity("tma_cycles_per_kilobyte", "cycles/KB", "further latency per KB"),
    Quantity("tma_further_copy_cycles", "cycles", "further latency of the second and third copy on a barrier"),
    Quantity("tma_store_latency_cycles", "cycles", "latency of a store beyond its transfer"),
    # Loads of threads.
    Quantity("load_dram_latency_cycles", "cycles", "ld.global from DRAM"),
    Quantity("load_l2_latency_cycles", "cycles", "ld.global that L2 holds"),
    Quantity(
        "thread_loaded_kilobytes",
        "KB",
        "largest tile that threads load faster than TMA in blocks of one tile each; 0: none",
    ),
    # Synchronization.
    Quantity("barrier_latency_cycles", "cycles", "from the arrival at an mbarrier to the wake of its waiter"),
    Quantity("named_barrier_cycles", "cycles", "named barrier of two roles, one way"),
    Quantity("block_barrier_cycles", "cycles", "bar.sync without its warps"),
    Quantity("block_barrier_cycles_per_warp", "cycles", "further cycles of bar.sync per warp"),
    Quantity("proxy_fence_cycles", "cycles", "fence.proxy.async of shared memory"),
    Quantity("cluster_barrier_cycles", "cycles", "barrier.cluster"),
    # Instructions of warps.
    Quantity("warp_instructions_per_cycle", "instructions/cycle", "issue slots of the four schedulers"),
    Quantity("fma_per_cycle", "operations/cycle", "32-bit float multiply-adds, additions and multiplies"),
    Quantity("alu_per_cycle", "operations/cycle", "comparisons, minima, integer and logic operations"),
    Quantity("exponentials_per_cycle", "operations/cycle", "MUFU: ex2, rcp, rsqrt, lg2"),
    Quantity("shuffles_per_cycle", "operations/cycle", "threads that shuffle"),
    Quantity(
        "floats_per_instruction",
        "operations",
        "additions, multiplies and multiply-adds of f32 by an instruction",
    ),
    Quantity("comparisons_per_instruction", "operations", "maxima or minima of f32 by an instruction"),
    Quantity("independent_instructions", "instructions", "instructions of a warp that do not wait for each other"),
    Quantity("dependent_issue_cycles", "cycles", "from an instruction of a warp to one that uses its result"),
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
    multiply_issue_cycles: float
    multiply_issue_depth: float
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
    thread_loaded_kilobytes: float
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


CONSTANTS: dict[str, dict[str, Constant]] = {file.NAME: file.CONSTANTS for file in (b200, h200, h100)}
DEVICES = {
    name: Device(name, **{quantity: constant.value for quantity, constant in constants.items()})
    for name, constants in CONSTANTS.items()
}
# Published costs of operations on tiles in registers are those of this device, and are used for every device.
TILE_COSTS = DEVICES[b200.NAME]


def device_of(target: str) -> Device:
    """The device whose constants predict kernels of a target."""
    return DEVICES[target_named(target).device]


def as_markdown() -> str:
    """The rows as the table of docs/cost_model.md; devices with equal entries share a line."""
    lines = ["| constant | unit | device | value | certainty | source |", "|---|---|---|---|---|---|"]
    for quantity in QUANTITIES:
        devices: dict[Constant, list[str]] = {}
        for name, constants in CONSTANTS.items():
            devices.setdefault(constants[quantity.name], []).append(name)
        for constant, names in devices.items():
            named = f"`{quantity.name}`: {quantity.meaning}" if b200.NAME in names else f"`{quantity.name}`"
            cells = (named, quantity.unit, ", ".join(names), f"{constant.value:g}", constant.certainty, constant.source)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
