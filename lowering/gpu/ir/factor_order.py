"""Factors per row that a role has read before another one computes the next ones: their slot needs no empty barrier.

In a loop of attention, the chain of an iteration ends where the chain of the next one begins:

    s = q @ k;  a = max of s;  p over s      the chain: the factor a is computed from the sums s
    o1 = o * a                               the correction role: it reads a
    o2 = p @ v + o1                          the multiply waits for o1 and p, which is in the columns of s

The sums of the next iteration are in those columns too, so that they follow p @ v, which follows the read of a.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.placed import PlaceOp, ReadOp
from tilec.lowering.gpu.ir.accumulator_channels import MULTIPLIES

_PLACE, _READ = PlaceOp.OPERATION_NAME, ReadOp.OPERATION_NAME


def is_read_before_next(factor: ir.Value, updates: Collection[ir.Operation]) -> bool:
    """Whether the factor of an iteration is read before the next one is computed.

    `updates` are the operations of the role that reads it, before the factor crosses in shared memory.
    """
    if isinstance(factor.owner, ir.Block):
        return False
    block = factor.owner.operation.block
    behind_factor = set(_operations_behind(factor, block))
    for multiply in [op.operation for op in block.operations if op.operation.name in MULTIPLIES]:
        update, sums = _owner(multiply.operands[0]), _sums_under(multiply.operands[1])
        if sums is None or update is None or update.name != _PLACE or update not in updates or update.block != block:
            continue
        is_read = any(op.name == _READ and op.operands[0] == sums for op in behind_factor)
        if is_read and factor.owner.operation in _operations_behind(update.operands[0], block):
            return True
    return False


def _sums_under(operand: ir.Value) -> ir.Value | None:
    """The accumulator in whose columns an operand of a multiply is placed."""
    op = _owner(operand)
    return op.opview.over if op is not None and op.name == _PLACE else None


def _operations_behind(value: ir.Value, block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a block from whose results a value is computed."""
    waiting, seen = [value], set[ir.Operation]()
    while waiting:
        op = _owner(waiting.pop())
        if op is not None and op.block == block and op not in seen:
            seen.add(op)
            waiting += op.operands
            yield op


def _owner(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation
