"""Blocks that fit on an SM."""

from __future__ import annotations

# CUDA programming guide, technical specifications of compute capability 9.0 and 10.0, and the granules of
# cuda_occupancy.h: registers are given to warps in units of 256, shared memory in units of 128 bytes. Each of four
# sub-partitions has a quarter of the registers, for whole warps.
_REGISTERS, _REGISTER_GRANULE, _SUBPARTITIONS = 65536, 256, 4
_WARPS, _BLOCKS = 64, 32
_SHARED_BYTES, RESERVED_BYTES, _SHARED_GRANULE = 228 * 1024, 1024, 128
_LANES = 32
# Shared memory of one block.
MOST_SHARED_BYTES = _SHARED_BYTES - RESERVED_BYTES


def blocks_per_processor(threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks of an SM by warps, registers and shared memory; tensor memory, which is not in the cubin, is left out."""
    warps = -(-threads // _LANES)
    per_warp = -(-registers * _LANES // _REGISTER_GRANULE) * _REGISTER_GRANULE
    shared = -(-(shared_bytes + RESERVED_BYTES) // _SHARED_GRANULE) * _SHARED_GRANULE
    by_registers = _REGISTERS // _SUBPARTITIONS // per_warp * _SUBPARTITIONS
    return min(_BLOCKS, _WARPS // warps, by_registers // warps, _SHARED_BYTES // shared)
