"""The quantities of the cost model, and the devices: the values of each are in the file with its name (b200.py).

A cycle is a cycle of the SM clock. Rates are those of one SM unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from tilec.lowering.model import b200, h200
from tilec.lowering.model.constant import Constant
from tilec.lowering.target import target_named


@dataclass(frozen=True)
class Quantity:
    """A quantity, with the unit of its values."""

    name: str
    unit: str
    meaning: str


def _quantity(unit: str, meaning: str) -> Any:
    return field(metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class Device:
    """The constants of a device, each with its unit and its meaning."""

    name: str
    # The chip.
    processors: float = _quantity("SMs", "SMs of the chip")
    clock_ghz: float = _quantity("GHz", "boost clock of the SMs")
    hbm_terabytes_per_second: float = _quantity("TB/s", "largest sustained bandwidth of HBM")
    l2_megabytes: float = _quantity("MB", "L2 cache")
    l2_bytes_per_cycle: float = _quantity("bytes/cycle", "from L2 into one SM if all SMs load")
    launch_microseconds: float = _quantity("us", "from the launch by a stream until the first block runs, and its end")
    graph_launch_microseconds: float = _quantity("us", "the same as a node of a CUDA graph")
    block_start_cycles: float = _quantity("cycles", "from the end of a block until the next one executes")
    # Capacities of one SM.
    shared_kilobytes: float = _quantity("KB", "shared memory of an SM")
    registers: float = _quantity("registers", "32-bit registers of an SM")
    warps: float = _quantity("warps", "resident warps of an SM")
    resident_blocks: float = _quantity("blocks", "resident blocks of an SM")
    tensor_memory_columns: float = _quantity("columns", "columns of tensor memory of an SM")
    # Tensor pipe.
    tensor_rows: float = _quantity(
        "rows", "rows of the accumulator that an instruction covers in one SM: tcgen05.mma 128, wgmma 64"
    )
    tensor_operand_bytes: float = _quantity("bytes", "bytes of a row of A along K that an instruction reads")
    tensor_columns_per_cycle: float = _quantity(
        "columns/cycle", "columns N of an instruction over its least issue interval"
    )
    multiply_latency_cycles: float = _quantity(
        "cycles", "from the last multiply to its observed completion, beyond its interval; operands in shared memory"
    )
    pair_multiply_latency_cycles: float = _quantity("cycles", "the same for cta_group::2")
    tensor_memory_multiply_latency_cycles: float = _quantity(
        "cycles", "the same with A in tensor memory; wgmma: in registers"
    )
    multiply_issue_cycles: float = _quantity(
        "cycles", "issue of a multiply of multiply_issue_depth elements along K by its thread or warpgroup"
    )
    multiply_issue_depth: float = _quantity("elements", "16-bit elements along K of one issue; 0: of any number")
    mma_sync_multiply_adds_per_cycle: float = _quantity("multiply-adds/cycle", "16-bit multiply-adds by mma.sync")
    # Memories of one SM.
    shared_bytes_per_cycle: float = _quantity("bytes/cycle", "port of shared memory, reads and writes")
    shared_write_share: float = _quantity(
        "1", "share of the bytes that TMA writes to shared memory which take the port from multiplies"
    )
    tensor_memory_read_bytes_per_cycle: float = _quantity("bytes/cycle", "tcgen05.ld by four warps")
    tensor_memory_write_bytes_per_cycle: float = _quantity("bytes/cycle", "tcgen05.st by four warps")
    tensor_copy_cycles: float = _quantity("cycles", "tcgen05.cp of 128 rows of 32 bytes")
    tensor_row_copy_cycles: float = _quantity("cycles", "tcgen05.cp of 4 rows of 32 bytes")
    tensor_shift_cycles: float = _quantity("cycles", "tcgen05.shift of 128 rows of 32 bytes")
    tensor_memory_allocation_cycles: float = _quantity("cycles", "tcgen05.alloc and dealloc, each")
    # TMA.
    tma_issue_cycles: float = _quantity("cycles", "between two copies of an SM")
    tma_l2_latency_cycles: float = _quantity("cycles", "latency of a load that L2 holds")
    tma_dram_latency_cycles: float = _quantity("cycles", "latency of a load from DRAM")
    tma_cycles_per_kilobyte: float = _quantity("cycles/KB", "further latency per KB")
    tma_further_copy_cycles: float = _quantity("cycles", "further latency of the second and third copy on a barrier")
    tma_store_latency_cycles: float = _quantity("cycles", "latency of a store beyond its transfer")
    # Loads of threads.
    load_dram_latency_cycles: float = _quantity("cycles", "ld.global from DRAM")
    load_l2_latency_cycles: float = _quantity("cycles", "ld.global that L2 holds")
    thread_loaded_kilobytes: float = _quantity(
        "KB", "largest tile that threads load faster than TMA in blocks of one tile each; 0: none"
    )
    # Synchronization.
    barrier_latency_cycles: float = _quantity("cycles", "from the arrival at an mbarrier to the wake of its waiter")
    named_barrier_cycles: float = _quantity("cycles", "named barrier of two roles, one way")
    block_barrier_cycles: float = _quantity("cycles", "bar.sync without its warps")
    block_barrier_cycles_per_warp: float = _quantity("cycles", "further cycles of bar.sync per warp")
    proxy_fence_cycles: float = _quantity("cycles", "fence.proxy.async of shared memory")
    cluster_barrier_cycles: float = _quantity("cycles", "barrier.cluster")
    # Instructions of warps.
    warp_instructions_per_cycle: float = _quantity("instructions/cycle", "issue slots of the four schedulers")
    fma_per_cycle: float = _quantity("operations/cycle", "32-bit float multiply-adds, additions and multiplies")
    alu_per_cycle: float = _quantity("operations/cycle", "comparisons, minima, integer and logic operations")
    exponentials_per_cycle: float = _quantity("operations/cycle", "MUFU: ex2, rcp, rsqrt, lg2")
    shuffles_per_cycle: float = _quantity("operations/cycle", "threads that shuffle")
    floats_per_instruction: float = _quantity(
        "operations", "additions, multiplies and multiply-adds of f32 by an instruction"
    )
    comparisons_per_instruction: float = _quantity("operations", "maxima or minima of f32 by an instruction")
    independent_instructions: float = _quantity(
        "instructions", "instructions of a warp that do not wait for each other"
    )
    dependent_issue_cycles: float = _quantity("cycles", "from an instruction of a warp to one that uses its result")

    def block_barrier(self, warps: int) -> float:
        """The cycles of bar.sync of a block with these warps."""
        return self.block_barrier_cycles + self.block_barrier_cycles_per_warp * warps

    @property
    def hbm_bytes_per_cycle(self) -> float:
        """The share of one SM in the largest bandwidth of HBM."""
        return self.hbm_terabytes_per_second * 1e3 / self.clock_ghz / self.processors


QUANTITIES = tuple(Quantity(field.name, **field.metadata) for field in fields(Device) if field.metadata)
CONSTANTS: dict[str, dict[str, Constant]] = {
    b200.NAME: b200.CONSTANTS,
    "H200": h200.CONSTANTS,
    "H100": h200.H100_CONSTANTS,
}
DEVICES = {
    name: Device(name, **{quantity: constant.value for quantity, constant in constants.items()})
    for name, constants in CONSTANTS.items()
}
# Published costs of operations on tiles in registers are those of this device, and are used for every device.
TILE_COSTS = DEVICES[b200.NAME]


def device_of(target: str) -> Device:
    """The device whose constants predict kernels of a target."""
    return DEVICES[target_named(target).device]
