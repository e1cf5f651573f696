"""The remark for a loop of tiles whose epilogue the multiplies of the next tile do not hide."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import TENSOR_MEMORY_MULTIPLIES
from tilec.dialect.tile_gpu.channel import THREADS, MakeChannelOp, PutBeginOp
from tilec.lowering.gpu.ir.slots import users_of_slot
from tilec.lowering.target import Target
from tilec.remarks import Remark

# The rows of a multiply by a pair of CTAs, each of which has half of the accumulator (PTX ISA 9.7.16.2.1).
_ROWS_OF_A_PAIR = 256
_LOOPS = ("scf.for", "scf.while")


def is_of_tiles(channel: MakeChannelOp) -> bool:
    """Whether a channel has an accumulator for each iteration of a loop, which an inner loop computes for threads."""
    users = [use.owner.operation for use in channel.operation.results[0].uses]
    puts = [user for user in users if user.name == PutBeginOp.OPERATION_NAME]
    return channel.consumer_names == [THREADS] and any(map(_starts_tile, puts))


def _starts_tile(put: ir.Operation) -> bool:
    """Whether a slot is taken in a loop and multiplies accumulate in it in a loop inside."""
    if put.parent.name not in _LOOPS:
        return False
    users = [user for result in put.results for user in users_of_slot(result)]
    return any(user.name in TENSOR_MEMORY_MULTIPLIES and user.block != put.block for user in users)


def epilogue_remark(channel: MakeChannelOp, target: Target) -> Remark:
    """The remark for an accumulator of tiles that has one slot."""
    (accumulator,) = channel.operation.results[0].type.buffers
    avoided = "use smaller tiles or num_ctas=2" if accumulator.shape[0] >= _ROWS_OF_A_PAIR else "use smaller tiles"
    message = (
        "multiplies of the next tile wait for the epilogue: two accumulators do not fit in "
        f"{target.tensor_memory_columns} columns of tensor memory: {avoided}"
    )
    return Remark("roles", message, source_location(channel.operation.location))
