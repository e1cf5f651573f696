"""The memory of one block if several blocks run on one SM, as the hint `occupancy` asks for."""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.location import source_location
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.target import Target
from tilec.remarks import Remark

# CUDA programming guide, technical specifications: the SM keeps 1 KB of shared memory for each of its blocks, so that
# it has 228 KB where one block has at most 227 KB.
RESERVED_SHARED_BYTES = 1024
# The unit in which an SM gives shared memory to blocks (cuda_occupancy.h, compute capability 8.0 and later).
_SHARED_GRANULE_BYTES = 128


def share_of_block(target: Target, blocks: int) -> Target:
    """The target with the memory that each of so many blocks on one SM has."""
    shared = (target.shared_bytes + RESERVED_SHARED_BYTES) // blocks // _SHARED_GRANULE_BYTES * _SHARED_GRANULE_BYTES
    return replace(
        target,
        shared_bytes=shared - RESERVED_SHARED_BYTES,
        tensor_memory_columns=_power_of_two_below(target.tensor_memory_columns // blocks),
    )


def followed_occupancy(
    kernel: KernelOp, target: Target, shared_bytes: int, tensor_columns: int, remarks: list[Remark]
) -> int | None:
    """The hint `occupancy` of a kernel whose blocks need this memory; None, with a remark, if it leaves no room."""
    blocks = kernel_hint(kernel, OCCUPANCY)
    if blocks is None:
        return None
    refusal = _refusal(target, blocks, shared_bytes, tensor_columns)
    if refusal is None:
        return blocks
    message = f"occupancy={blocks} is not followed: {refusal}"
    remarks.append(Remark("hint", message, source_location(kernel.operation.location)))
    return None


def _refusal(target: Target, blocks: int, shared_bytes: int, tensor_columns: int) -> str | None:
    share = share_of_block(target, blocks)
    if shared_bytes > share.shared_bytes:
        return f"a block needs {shared_bytes} bytes of shared memory, {blocks} blocks have {share.shared_bytes} each"
    if tensor_columns > share.tensor_memory_columns:
        return (
            f"a block needs {tensor_columns} columns of tensor memory, "
            f"{blocks} blocks have {share.tensor_memory_columns} each"
        )
    return None


def _power_of_two_below(columns: int) -> int:
    """The largest number of columns that can be allocated (PTX ISA 9.7.16.7.1: powers of two)."""
    return 1 << (columns.bit_length() - 1) if columns else 0
