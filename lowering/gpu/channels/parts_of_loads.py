"""Loads of TMA of which each CTA of a cluster does a part: smaller boxes, further along a coordinate."""

from __future__ import annotations

import math

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import ClusterRankOp, KernelOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, outermost_wide, row_boxes
from tilec.dialect.walk import users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.equal_values import EqualValues
from tilec.lowering.gpu.ir.slots import PUT, users_of_slot

# The rows after which every swizzle repeats (PTX ISA 5.5.7).
_PATTERN_ROWS = 8


def loads_into(channel: MakeChannelOp, number: int) -> list[TmaLoadOp]:
    """The copies into a buffer of the slots of a channel."""
    buffers = [put.results[number] for put in users_of(channel.channel) if put.name == PUT]
    return [user.opview for buffer in buffers for user in users_of_slot(buffer)]


def loads_alike(load: ir.OpView, equal: EqualValues) -> bool:
    if not isinstance(load, TmaLoadOp) or load.map.owner.kind is not None or load.multicast:
        return False
    return equal.runs_alike(load.operation) and all(map(equal.has, load.coordinates))


def part_box(load: TmaLoadOp, ctas: int) -> tuple[list[int], int, int] | None:
    """The box of the rows of one CTA, the outermost coordinate along them, and their number along it.

    None if they cannot be divided.
    """
    box, boxes = list(load.map.owner.box), row_boxes(load)
    along = outermost_wide(box)
    if along == 0 or box[along] * boxes % ctas or math.prod(box[1:]) * boxes // ctas % _PATTERN_ROWS:
        return None
    rows = box[along] * boxes // ctas
    box[along] = min(box[along], rows)
    return box, along, rows


def load_part(kernel: KernelOp, load: TmaLoadOp, box: list[int], coordinate: int, step: int, parts: int) -> None:
    """Loads a smaller box, `step` elements further along a coordinate for each CTA before this one."""
    operation = load.operation
    with operation.location, ir.InsertionPoint(operation):
        rank = emitter.gpu(ClusterRankOp, [], [emitter.integer_type(32)]).result
        if kernel.ctas > parts:
            rank = emitter.binary("arith.andi", rank, emitter.i32(parts - 1))
        distance = emitter.binary("arith.muli", rank, emitter.i32(step))
        start = emitter.binary("arith.addi", load.coordinates[coordinate], distance)
    operation.operands[1 + coordinate] = start
    if box != list(load.map.owner.box):
        operation.operands[0] = with_box(load.map.owner.operation, box)


def with_box(made: ir.Operation, box: list[int]) -> ir.Value:
    """A map of the same tensor with another box."""
    copy = made.clone(ir.InsertionPoint.after(made))
    copy.operation.attributes["box"] = ir.DenseI32ArrayAttr.get(box)
    return copy.operation.results[0]
