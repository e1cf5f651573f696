"""The class and the clocks of each operation of tile_gpu, for the schedule of loops."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.element_types import element_type
from tilec.lowering.gpu.operation_work import polynomial_share
from tilec.lowering.gpu.shared_plan import CTAS_OF_A_PAIR
from tilec.lowering.schedule import costs
from tilec.lowering.schedule.costs import Cost
from tilec.lowering.schedule.parts import Kind

# Operations that execute no instructions, or whose instructions are part of another operation.
_WITHOUT_COST = (
    *("tile_gpu.reshape", "tile_gpu.broadcast", "tile_gpu.transpose", "tile_gpu.splat", "tile_gpu.iota"),
    *("tile_gpu.extract", "tile_gpu.insert", "tile_gpu.cat", "tile_gpu.wgmma_wait", "arith.constant"),
)
# The tensor cores multiply elements of this size at the rates of the table.
_TABLE_BITS = 16


def operation_cost(op: ir.Operation, target: str) -> tuple[Kind, Cost] | None:
    """The class and the cost of an operation; None if it has none, as scalars, barriers and steps on channels."""
    if op.name in _TABLE:
        kind, cost = _TABLE[op.name]
        return kind, cost(op, target)
    if op.name in _WITHOUT_COST or not any(is_register_tile(result.type) for result in op.results):
        return None
    if op.name.startswith(("math.", "tile_gpu.math")):
        return Kind.TILE, costs.exponential(_elements(op), polynomial_share(op.opview), extra=0)
    return Kind.TILE, costs.elementwise(_elements(op))


def tile_bytes(type: ir.Type) -> int:
    """The bytes of a register tile or of a buffer."""
    element = type.element if isinstance(type, BufferType) else type.element_type
    return math.ceil(math.prod(type.shape) * element_type(spell(element)).storage_bits / 8)


def _elements(op: ir.Operation) -> int:
    """The elements of the largest tile that an operation reads or writes."""
    types = (*(value.type for value in op.operands), *(result.type for result in op.results))
    return max(math.prod(type.shape) for type in types if is_register_tile(type))


def _buffer_bytes(op: ir.Operation) -> int:
    return max((tile_bytes(value.type) for value in op.operands if isinstance(value.type, BufferType)), default=0)


def _tile_bytes(op: ir.Operation) -> int:
    values = (*op.operands, *op.results)
    return max((tile_bytes(value.type) for value in values if is_register_tile(value.type)), default=0)


def _multiply(op: ir.Operation, target: str) -> Cost:
    """A multiply by tensor cores, whose rate doubles with half the bits; of a pair the part of one CTA.

    Each CTA of a pair has its rows of lhs and of the accumulator, with all columns, of which it has half of rhs.
    """
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    bits = element_type(spell(lhs.element if isinstance(lhs, BufferType) else lhs.element_type)).storage_bits
    in_place = not isinstance(lhs, BufferType) or lhs.memory == TENSOR
    depth = max(1, lhs.shape[1] * bits // _TABLE_BITS)
    pair = "pair" in op.attributes
    columns = rhs.shape[1] * (CTAS_OF_A_PAIR if pair else 1)
    return costs.multiply(target, lhs.shape[0], columns, depth, first_in_place=in_place, pair=pair)


def _warp_multiply(op: ir.Operation, target: str) -> Cost:
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    return costs.warp_multiply(target, lhs.shape[0], rhs.shape[1], lhs.shape[1])


def _dot(op: ir.Operation, target: str) -> Cost:
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    return costs.elementwise(lhs.shape[0] * lhs.shape[1] * rhs.shape[1])


def _global_access(op: ir.Operation, target: str) -> Cost:
    return costs.global_access(target, _tile_bytes(op))


_Rule = tuple[Kind, Callable[[ir.Operation, str], Cost]]
_TABLE: dict[str, _Rule] = {
    "tile_gpu.tma_load": (Kind.STREAM, lambda op, target: costs.tma_load(target, _buffer_bytes(op), "l2")),
    "tile_gpu.tma_gather": (Kind.STREAM, lambda op, target: costs.tma_load(target, _buffer_bytes(op), "l2")),
    "tile_gpu.tma_store": (Kind.TILE, lambda op, target: costs.tma_store(target, _buffer_bytes(op), "l2")),
    "tile_gpu.tcgen05_mma": (Kind.ISSUE, _multiply),
    "tile_gpu.tcgen05_mma_scaled": (Kind.ISSUE, _multiply),
    "tile_gpu.wgmma": (Kind.TILE, _multiply),
    "tile_gpu.mma_sync": (Kind.TILE, _warp_multiply),
    "tile_gpu.dot": (Kind.TILE, _dot),
    "tile_gpu.load_tensor_memory": (Kind.TILE, lambda op, _: costs.tensor_load(_tile_bytes(op))),
    "tile_gpu.store_tensor_memory": (Kind.TILE, lambda op, _: costs.tensor_load(_tile_bytes(op))),
    "tile_gpu.load_shared": (Kind.TILE, lambda op, _: costs.shared_access(_tile_bytes(op))),
    "tile_gpu.store_shared": (Kind.TILE, lambda op, _: costs.shared_access(_tile_bytes(op))),
    # Through scratch memory: written and read.
    "tile_gpu.convert_layout": (Kind.TILE, lambda op, _: costs.shared_access(2 * _tile_bytes(op))),
    "tile_gpu.gather_parts": (Kind.TILE, lambda op, _: costs.shared_access(2 * _tile_bytes(op))),
    "tile_gpu.reduce": (Kind.TILE, lambda op, _: costs.reduction(_elements(op))),
    "tile_gpu.scan": (Kind.TILE, lambda op, _: costs.reduction(_elements(op))),
    "tile_gpu.load_view": (Kind.TILE, _global_access),
    "tile_gpu.store_view": (Kind.TILE, _global_access),
    "tile_gpu.load_global": (Kind.TILE, _global_access),
    "tile_gpu.store_global": (Kind.TILE, _global_access),
}
