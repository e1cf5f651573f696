"""Predicts kernels that stream rows: elementwise operations, sums, norms, softmax."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilec.lowering.model.constants import DEVICES, Device
from tilec.lowering.model.launch import Prediction, Ring, TileWork, predict
from tilec.lowering.model.step import Step

_BITS_PER_BYTE = 8
_LANES = 32
# Bytes of a load or store of a thread.
_VECTOR_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A kernel that reads elements once from DRAM, and writes as many results.

    Attributes:
        device: a key of DEVICES.
        elements: elements of each array.
        tile_elements: elements of a tile.
        element_bits: bits of an element.
        arrays_read: arrays of this size that are read.
        arrays_written: arrays of this size that are written.
        passes: times that a tile is read; all but the first are from L2.
        fma: float operations per element.
        alu: comparisons and integer operations per element.
        exponentials: operations of MUFU per element.
        tma: whether TMA loads the tiles.
        persistent: whether a block computes several tiles.
        stages: tiles that a persistent block has in flight or in use.
        blocks_per_processor: blocks per SM.
        warps: warps of a block.
        in_graph: whether the launch is a node of a CUDA graph.
    """

    device: str
    elements: int
    tile_elements: int
    element_bits: int
    arrays_read: int = 1
    arrays_written: int = 1
    passes: int = 1
    fma: float = 0
    alu: float = 0
    exponentials: float = 0
    tma: bool = False
    persistent: bool = False
    stages: int = 1
    blocks_per_processor: int = 1
    warps: int = 4
    in_graph: bool = False


def predict_rows(rows: Rows) -> Prediction:
    """The time of a kernel that streams rows."""
    device = DEVICES[rows.device]
    return predict(rows_work(rows, device), device)


def rows_work(rows: Rows, device: Device) -> TileWork:
    """The work of the tiles: a step is a tile."""
    array = rows.tile_elements * rows.element_bits / _BITS_PER_BYTE
    read, written = rows.arrays_read * array, rows.arrays_written * array
    accesses = (rows.passes * read + written) / _VECTOR_BYTES / _LANES
    step = Step(
        shared_bytes=2 * read if rows.tma else 0.0,
        l2_bytes=rows.passes * read + written,
        dram_bytes=read + written,
        copies=rows.arrays_read if rows.tma else 0,
        fma=rows.fma * rows.tile_elements,
        alu=rows.alu * rows.tile_elements,
        exponentials=rows.exponentials * rows.tile_elements,
        other_instructions=accesses,
    )
    alone = step.instructions / rows.warps * device.dependent_issue_cycles / device.independent_instructions
    # The sum of a row: barriers and exchanges of the warps, which no other block of a persistent kernel hides.
    reduction = 2 * device.block_barrier(rows.warps)
    # The next block of a grid takes the place of one that ends; a persistent block has no start per tile.
    start = 0.0 if rows.persistent else device.block_start_cycles
    again = (rows.passes - 1) * device.load_l2_latency_cycles
    return TileWork(
        step=step,
        iterations=1,
        ring=Ring(slots=rows.stages, bytes=read, copies=rows.arrays_read * rows.tma, use_cycles=alone + start + again),
        chain_cycles=alone + reduction if rows.persistent else 0.0,
        tiles=ceil(rows.elements / rows.tile_elements),
        blocks_per_processor=rows.blocks_per_processor,
        warps=rows.warps,
        persistent=True,
        loads_ahead=True,
        launch_microseconds=device.graph_launch_microseconds if rows.in_graph else None,
    )
