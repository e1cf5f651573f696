"""Reads an accumulator for which the multiplies of the next tile wait before its last columns are stored.

before:   %a = load %s from 0;  %b = truncf %a;  store %b;  %c = load %s from 64;  release;  %d = truncf %c;  store %d
after:    %a = load %s from 0;  %b = truncf %a;  %c = load %s from 64;  %d = truncf %c;  release;  store %b;  store %d

The columns are in registers until they are stored. Where tensor memory has room for two accumulators, nothing waits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp
from tilec.dialect.tile_gpu.operations.shape import IotaOp, SplatOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_inside, operations_of, owner_of, users_of
from tilec.lowering.gpu.channels.pipeline import is_of_tiles
from tilec.lowering.gpu.ir.enclosing import operations_after
from tilec.lowering.gpu.ir.slots import GET, channels_of
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.lowering.target import LANES

_LOAD, _RELEASE = LoadTensorMemoryOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_NARROWING = ("arith.truncf", "arith.trunci")
# Tiles without registers of their own.
_FREE = ("arith.constant", SplatOp.OPERATION_NAME, IotaOp.OPERATION_NAME)
_REGISTER_BITS = 32
# The registers of the columns that a thread keeps or loads last: with 192, ptxas 13.0 spills for tiles of 512x128.
_MOST_REGISTERS = 160


@dataclass(frozen=True)
class _Columns:
    """The operation that reads columns of an accumulator, and the value that is kept: narrower, if that is used."""

    read: ir.Operation
    kept: ir.Value

    @property
    def last(self) -> ir.Operation:
        return self.kept.owner.operation


def _registers(tile: ir.RankedTensorType, warps: int) -> int:
    return prod(tile.shape) * element_bits(tile.element_type) // (_REGISTER_BITS * LANES * warps)


def read_early(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run after channels share slots, and before registers are assigned."""
    tiles = [op for op in channels_of(kernel) if op.reuse == "ring" and op.shares is None and is_of_tiles(op)]
    # Several accumulators would need the registers at the same time.
    if len(tiles) != 1:
        return
    (channel,), plan = tiles, memory_plan(kernel)
    needed = plan.columns_used + plan.channels[channel.channel].slot_columns
    if needed <= context.target.tensor_memory_columns:
        return
    for op in users_of(channel.channel):
        if op.name == GET and not _holds_other_tiles(op.block):
            _read_early(op, kernel.warps)


def _holds_other_tiles(block: ir.Block) -> bool:
    """Whether register tiles from outside of a block, other than constants, are live in it."""
    if any(is_register_tile(argument.type) for argument in block.arguments):
        return True
    operations = operations_of(block)
    outside = {value for op in operations for value in op.operands if is_register_tile(value.type)}
    outside -= {result for op in operations for result in op.results}
    owners = map(owner_of, outside)
    return any(op is None or op.name not in _FREE for op in owners)


def _read_early(get: ir.Operation, warps: int) -> None:
    following = operations_after(get)
    release = next((op for op in following if op.name == _RELEASE and op.operands[0] == get.operands[0]), None)
    if release is None:
        return
    between = following[: following.index(release)]
    columns = [each for each in _columns(between, get.results[0]) if _needs_nothing_of(each.read, between)]
    early = _that_fit(columns, warps)
    for before, each in itertools.pairwise(early):
        each.read.move_after(before.last)
        if each.last != each.read:
            each.last.move_after(each.read)
    if len(early) > 1:
        release.move_after(early[-1].last)


def _columns(operations: list[ir.Operation], slot: ir.Value) -> Iterator[_Columns]:
    """The reads of a slot among some operations, each with the value that is kept."""
    for op in operations:
        if _reads(op, slot):
            users = users_of(op.results[0])
            narrow = len(users) == 1 and users[0].name in _NARROWING and users[0].block == op.block
            yield _Columns(op, (users[0] if narrow else op).results[0])


def _reads(op: ir.Operation, slot: ir.Value) -> bool:
    """Whether an operation loads columns of a slot, perhaps in a branch that does nothing else."""
    if op.name == _LOAD:
        return op.operands[0] == slot
    if op.name != "scf.if" or len(op.results) != 1:
        return False
    inner = operations_inside(op)
    loads = [each for each in inner if each.name == _LOAD]
    others = {each.name for each in inner} - {_LOAD, "scf.yield", "arith.constant"}
    return not others and len(loads) == 1 and loads[0].operands[0] == slot


def _needs_nothing_of(read: ir.Operation, operations: list[ir.Operation]) -> bool:
    """Whether a read, which depends on the slot and a condition alone, does not use results of the operations."""
    return not any(operand.owner in operations for operand in read.operands)


def _that_fit(columns: list[_Columns], warps: int) -> list[_Columns]:
    """The last columns that the registers of a thread hold together."""
    if not columns:
        return []
    *others, last = columns
    kept = (_registers(each.kept.type, warps) for each in reversed(others))
    totals = itertools.accumulate(kept, initial=_registers(last.read.results[0].type, warps))
    count = sum(total <= _MOST_REGISTERS for total in totals)
    return columns[len(columns) - count :]
