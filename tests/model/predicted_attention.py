"""Predicts the forward pass of attention: two multiplies and a softmax per block of keys."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilec.lowering.model.constants import DEVICES, Device
from tilec.lowering.model.launch import Prediction, Ring, TileWork, predict
from tilec.lowering.model.step import Multiply, Step, latency_cycles, pipe_use, unit_cycles

_BITS_PER_BYTE = 8
_SCORE_BYTES = 4
# Operations of the softmax per score: scale and subtract the maximum, sum, half of a conversion to pairs.
_FMA_PER_SCORE = 2.5
# The maximum of a row.
_ALU_PER_SCORE = 1.0
# Multiply-adds of a polynomial that replaces ex2 (Cody-Waite reduction and degree 3, FlashAttention-4).
_FMA_PER_EMULATED_EXPONENTIAL = 6.0


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Attention with one or two tiles of queries per block.

    Attributes:
        device: a key of DEVICES.
        heads: heads, of all batches.
        queries: queries per head.
        keys: keys per head.
        head_size: elements of a query, a key and a value.
        tile: queries and keys of a step, of one tile.
        tiles: tiles of queries that a block computes at the same time, each with its own softmax warps.
        element_bits: bits of an element of queries, keys and values.
        causal: whether keys after a query are ignored; their blocks are not computed.
        stages: blocks of keys and values in shared memory.
        emulated: fraction of the exponentials that are polynomials.
        multiplies_overlap: whether the next scores are multiplied during a softmax of the same tile.
        blocks_per_processor: blocks per SM.
        persistent: whether a block computes several tiles.
    """

    device: str
    heads: int
    queries: int
    keys: int
    head_size: int
    tile: tuple[int, int] = (128, 128)
    tiles: int = 1
    element_bits: int = 16
    causal: bool = False
    stages: int = 2
    emulated: float = 0.0
    multiplies_overlap: bool = False
    blocks_per_processor: int = 1
    persistent: bool = False

    @property
    def flop(self) -> float:
        """Multiplies and additions of both products; half of them if causal."""
        return 4.0 * self.heads * self.queries * self.keys * self.head_size / (2 if self.causal else 1)


def predict_attention(attention: Attention) -> Prediction:
    """The time of the forward pass."""
    device = DEVICES[attention.device]
    return predict(attention_work(attention, device), device)


def attention_work(attention: Attention, device: Device) -> TileWork:
    """The work of the tiles of queries: a step is a block of keys and values."""
    queries, keys = attention.tile
    one = softmax_step(attention, device)
    loaded = 2 * keys * attention.head_size * attention.element_bits / _BITS_PER_BYTE
    step = one.times(attention.tiles) + Step(
        shared_bytes=device.shared_write_share * loaded, l2_bytes=loaded, dram_bytes=0.0, copies=2
    )
    chain = _chain_cycles(attention, one, device)
    blocks_of_keys = ceil(attention.keys / keys)
    tile_queries = queries * attention.tiles
    # On average half of the blocks of keys are before the queries of a tile, and half of that on the diagonal.
    iterations = blocks_of_keys if not attention.causal else (blocks_of_keys + max(1.0, tile_queries / keys)) / 2
    stored = tile_queries * attention.head_size * attention.element_bits / _BITS_PER_BYTE
    return TileWork(
        step=step,
        iterations=iterations,
        ring=Ring(slots=attention.stages, bytes=loaded, copies=2, use_cycles=chain, from_dram=False),
        chain_cycles=chain,
        epilogue=Step(
            tensor_memory_read_bytes=tile_queries
            * attention.head_size
            * _SCORE_BYTES
            * (device.tensor_memory_columns > 0),
            shared_bytes=2 * stored,
            l2_bytes=stored,
            fma=tile_queries * attention.head_size,
        ),
        epilogue_latency_cycles=device.tma_store_latency_cycles,
        drain_cycles=device.barrier_latency_cycles,
        tiles=ceil(attention.queries / tile_queries) * attention.heads,
        blocks_per_processor=attention.blocks_per_processor,
        warps=4 * attention.tiles,
        persistent=attention.persistent,
        loads_ahead=attention.persistent,
        setup_cycles=2 * device.tensor_memory_allocation_cycles,
    )


def softmax_step(attention: Attention, device: Device) -> Step:
    """The multiplies and the softmax of one tile for one block of keys, without loads."""
    scores, values = _multiplies(attention, device)
    queries, keys = attention.tile
    elements = queries * keys
    in_tensor_memory = device.tensor_memory_columns > 0
    used = pipe_use(scores, device), pipe_use(values, device)
    return Step(
        tensor_cycles=sum(use.cycles for use in used),
        shared_bytes=sum(use.shared_bytes for use in used),
        tensor_memory_read_bytes=elements * _SCORE_BYTES if in_tensor_memory else 0.0,
        tensor_memory_written_bytes=elements * attention.element_bits / _BITS_PER_BYTE if in_tensor_memory else 0.0,
        fma=elements * (_FMA_PER_SCORE + attention.emulated * _FMA_PER_EMULATED_EXPONENTIAL),
        alu=elements * _ALU_PER_SCORE,
        exponentials=elements * (1 - attention.emulated),
        other_instructions=sum(use.instructions for use in used),
    )


def _multiplies(attention: Attention, device: Device) -> tuple[Multiply, Multiply]:
    """Queries by keys, both in shared memory; probabilities, in tensor memory or registers, by values."""
    queries, keys = attention.tile
    bits = attention.element_bits
    scores = Multiply(rows=queries, columns=keys, depth=attention.head_size, element_bits=bits)
    values = Multiply(rows=queries, columns=attention.head_size, depth=keys, element_bits=bits, left_in_shared=False)
    return scores, values


def _chain_cycles(attention: Attention, step: Step, device: Device) -> float:
    """Scores, softmax and values of one tile, one after the other: the scores overwrite the probabilities before."""
    units = unit_cycles(step, device)
    softmax = max(cycles for unit, cycles in units.items() if unit not in ("tensor pipe", "shared memory port"))
    scores, values = _multiplies(attention, device)
    chain = softmax + latency_cycles(values, device) + pipe_use(values, device).cycles
    if not attention.multiplies_overlap:
        chain += latency_cycles(scores, device) + pipe_use(scores, device).cycles
    if not device.tensor_memory_columns:
        # One warpgroup issues, waits and computes: no barrier.
        return chain
    transfers = step.tensor_memory_read_bytes / device.tensor_memory_read_bytes_per_cycle
    transfers += step.tensor_memory_written_bytes / device.tensor_memory_write_bytes_per_cycle
    return chain + transfers + 3 * device.barrier_latency_cycles
