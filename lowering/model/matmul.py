"""Predicts a matrix multiply from its tiles, its ring and the form of its loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from tilec.lowering.model.constants import DEVICES, Device
from tilec.lowering.model.launch import Prediction, Ring, TileWork, predict
from tilec.lowering.model.step import Multiply, PipeUse, Step, latency_cycles, pipe_use
from tilec.lowering.target import Target

# Extents of a product that fills all SMs several times; those of a launch are unknown when a kernel is compiled.
_EXTENT = 4096
# The size of the staging buffer of stores, which divides a tile into slices.
_STAGING_BYTES = 32768
_BITS_PER_BYTE = 8
_KILOBYTE = 1024
# Shared memory of a block for barriers, and the reserve of the hardware (CUDA programming guide: 1 KB).
_RESERVED_BYTES = 2 * _KILOBYTE
_ACCUMULATOR_BYTES = 4
# Registers of a thread beyond its part of the accumulator.
_LEAST_REGISTERS = 32


@dataclass(frozen=True, kw_only=True)
class Matmul:
    """A product C = A * B with one tile of C per block or pair of blocks.

    Attributes:
        device: a key of DEVICES.
        rows: extent M.
        columns: extent N.
        depth: extent K.
        tile: extents of a tile: M and N of C, and K of a step; of both blocks of a pair.
        stages: slots of the ring of operands.
        element_bits: bits of an element of A and B in memory.
        output_bits: bits of an element of C.
        batch: products of this shape.
        pair: whether two blocks multiply together (cta_group::2).
        multicast: blocks that share each loaded operand of a cluster, beyond a pair.
        roles: whether loads and multiplies have warps of their own.
        multiply_is_awaited: without roles, whether a step waits for its multiply before the next loads.
        persistent: whether a block computes several tiles.
        loads_ahead: whether a persistent block loads operands of the next tile during the epilogue.
        accumulators: 2 if the next tile is multiplied during the epilogue.
        group: tiles along M that are computed before the next tile along N; 0 for all.
        contiguous: whether a persistent block computes neighbouring tiles, instead of blocks doing so.
        blocks_per_processor: blocks per SM; 0 for as many as fit.
        warps: warps of the epilogue.
        in_graph: whether the launch is a node of a CUDA graph.
    """

    device: str
    rows: int
    columns: int
    depth: int
    tile: tuple[int, int, int]
    stages: int
    element_bits: int = 16
    output_bits: int = 16
    batch: int = 1
    pair: bool = False
    multicast: int = 1
    roles: bool = True
    multiply_is_awaited: bool = False
    persistent: bool = False
    loads_ahead: bool | None = None
    accumulators: int = 1
    group: int = 0
    contiguous: bool = False
    blocks_per_processor: int = 0
    warps: int = 4
    in_graph: bool = False

    @property
    def flop(self) -> float:
        """Multiplies and additions."""
        return 2.0 * self.rows * self.columns * self.depth * self.batch

    @property
    def multiply(self) -> Multiply:
        """The multiply of a step."""
        m, n, k = self.tile
        return Multiply(rows=m, columns=n, depth=k, element_bits=self.element_bits, pair=self.pair)

    @property
    def step_bytes(self) -> float:
        """Bytes of A and B that one SM loads in a step."""
        m, n, k = self.tile
        return (m + n) * k * self.element_bits / _BITS_PER_BYTE / (2 if self.pair else 1)

    @property
    def grid(self) -> tuple[int, int]:
        """Tiles along M and along N."""
        return ceil(self.rows / self.tile[0]), ceil(self.columns / self.tile[1])


def predict_matmul(matmul: Matmul) -> Prediction:
    """The time of a matrix multiply."""
    device = DEVICES[matmul.device]
    return predict(matmul_work(matmul, device), device)


def matmul_work(matmul: Matmul, device: Device) -> TileWork:
    """The work of the tiles of a matrix multiply."""
    use = pipe_use(matmul.multiply, device)
    resident = matmul.blocks_per_processor or _fitting_blocks(matmul, device)
    # Without roles, the threads of a block wait, load and multiply together.
    barrier = 0.0 if matmul.roles else device.block_barrier(matmul.warps)
    awaited = _awaited_cycles(matmul, use, device) + barrier
    ring = Ring(
        # An asynchronous multiply still reads the slot of the preceding step while the same threads issue loads.
        slots=matmul.stages if matmul.roles or matmul.multiply_is_awaited else max(1, matmul.stages - 1),
        bytes=matmul.step_bytes / matmul.multicast,
        copies=2,
        use_cycles=awaited + device.barrier_latency_cycles,
    )
    along_m, along_n = matmul.grid
    return TileWork(
        step=_step(matmul, use, resident, device),
        iterations=ceil(matmul.depth / matmul.tile[2]),
        ring=ring,
        chain_cycles=0.0 if matmul.roles else awaited,
        epilogue=_epilogue(matmul, device),
        epilogue_latency_cycles=device.tma_store_latency_cycles + device.proxy_fence_cycles,
        drain_cycles=latency_cycles(matmul.multiply, device) + device.barrier_latency_cycles,
        tiles=along_m * along_n * matmul.batch,
        blocks_per_processor=resident,
        cluster=2 if matmul.pair else 1,
        warps=matmul.warps,
        persistent=matmul.persistent,
        loads_ahead=matmul.roles if matmul.loads_ahead is None else matmul.loads_ahead,
        epilogue_overlapped=matmul.persistent and matmul.accumulators > 1,
        setup_cycles=2 * device.tensor_memory_allocation_cycles,
        launch_microseconds=device.graph_launch_microseconds if matmul.in_graph else None,
    )


def _step(matmul: Matmul, use: PipeUse, resident: int, device: Device) -> Step:
    loaded = matmul.step_bytes / matmul.multicast
    return Step(
        tensor_cycles=use.cycles,
        # TMA writes each operand to shared memory once, through the port by which the multiplies read it.
        shared_bytes=use.shared_bytes + device.shared_write_share * matmul.step_bytes,
        l2_bytes=loaded,
        dram_bytes=_dram_bytes(matmul, resident, device),
        copies=2,
        other_instructions=use.instructions + 2,
    )


def _awaited_cycles(matmul: Matmul, use: PipeUse, device: Device) -> float:
    """From a complete load until the multiplies of its step are observed to be complete."""
    port = (use.shared_bytes + device.shared_write_share * matmul.step_bytes) / device.shared_bytes_per_cycle
    busy = max(use.cycles, port)
    return busy + latency_cycles(matmul.multiply, device) + device.barrier_latency_cycles


def _epilogue(matmul: Matmul, device: Device) -> Step:
    """Accumulator from tensor memory, conversion, shared memory, TMA store; of one SM."""
    elements = matmul.tile[0] * matmul.tile[1] / (2 if matmul.pair else 1)
    stored = elements * matmul.output_bits / _BITS_PER_BYTE
    in_tensor_memory = device.tensor_memory_columns > 0
    return Step(
        tensor_memory_read_bytes=elements * _ACCUMULATOR_BYTES if in_tensor_memory else 0.0,
        shared_bytes=2 * stored,
        l2_bytes=stored,
        dram_bytes=stored,
        fma=elements / 2,
        copies=ceil(matmul.tile[1] * matmul.output_bits / 1024),
    )


def _fitting_blocks(matmul: Matmul, device: Device) -> int:
    """Blocks per SM by shared memory, tensor memory and the registers of the accumulator."""
    m, n, _ = matmul.tile
    rows = m // 2 if matmul.pair else m
    by_shared = device.shared_kilobytes * _KILOBYTE // (matmul.stages * matmul.step_bytes + _RESERVED_BYTES)
    if device.tensor_memory_columns:
        columns = ceil(rows / device.tensor_rows) * n * matmul.accumulators
        by_accumulator = device.tensor_memory_columns // columns
    else:
        by_accumulator = device.registers // (rows * n + _LEAST_REGISTERS * 32 * matmul.warps)
    return max(1, int(min(by_shared, by_accumulator)))


def _dram_bytes(matmul: Matmul, resident: int, device: Device) -> float:
    """Bytes of A and B that a step of one SM takes from DRAM: those that the tiles of a wave do not share."""
    bytes_per_element = matmul.element_bits / _BITS_PER_BYTE
    steps = ceil(matmul.depth / matmul.tile[2])
    tiles = matmul.grid[0] * matmul.grid[1]
    ctas = 2 if matmul.pair else 1
    once = (matmul.rows + matmul.columns) * matmul.depth * bytes_per_element
    if once <= device.l2_megabytes * 1e6:
        return once / (tiles * steps * ctas)
    wave = _wave(matmul, int(device.processors) // ctas * resident)
    rows, columns = len({row for row, _ in wave}), len({column for _, column in wave})
    m, n, k = matmul.tile
    return (rows * m + columns * n) * k * bytes_per_element / (len(wave) * ctas)


def _wave(matmul: Matmul, slots: int) -> list[tuple[int, int]]:
    """The tiles that are computed at the same time."""
    along_m, along_n = matmul.grid
    tiles = along_m * along_n
    spacing = ceil(tiles / slots) if matmul.contiguous else 1
    return [_tile(index, along_m, along_n, matmul.group or along_m) for index in range(0, tiles, spacing)][:slots]


def _tile(index: int, along_m: int, along_n: int, group: int) -> tuple[int, int]:
    """The tile of a block: groups of `group` tiles along M, and in each group all tiles along N."""
    first = index // (group * along_n) * group
    size = min(group, along_m - first)
    inside = index % (group * along_n)
    return first + inside % size, inside // size


@dataclass(frozen=True)
class PairTimes:
    """The predicted times of a product of _EXTENT rows, columns and depth, in microseconds."""

    block: float
    pair: float

    @property
    def pair_is_faster(self) -> bool:
        """Whether two blocks that multiply together take less time than one."""
        return self.pair < self.block

    def __str__(self) -> str:
        extents = "x".join([str(_EXTENT)] * 3)
        return f"a product of {extents} takes {self.pair:.0f} us with pairs of blocks and {self.block:.0f} us without"


def pair_times(tile: tuple[int, int, int], element_bits: int, target: Target, device: Device) -> PairTimes:
    """The times with tiles of `tile` rows, columns and elements along K per step, of all blocks that compute a tile."""
    block = Matmul(
        device=device.name, rows=_EXTENT, columns=_EXTENT, depth=_EXTENT, tile=tile, stages=1, element_bits=element_bits
    )
    block, pair = (_with_ring(each, target) for each in (block, replace(block, pair=True)))
    return PairTimes(predict_matmul(block).microseconds, predict_matmul(pair).microseconds)


def _with_ring(matmul: Matmul, target: Target) -> Matmul:
    """As many slots as shared memory has room for."""
    slots = int((target.shared_bytes - _STAGING_BYTES) // matmul.step_bytes)
    return replace(matmul, stages=max(1, slots))
