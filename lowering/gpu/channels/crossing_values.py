"""Values of one element that threads compute and other roles need: they cross in shared memory.

The role that computes such a value puts it into a slot, and each role that needs it gets it there, at the same place:

compute:   %t = atomic_global ..;  put_begin;  store_shared %t;  put_commit
load:      get;  %t = load_shared;  release

The role gets it where it first uses it, and runs ahead until then: all of that precedes the next value in the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import (
    THREADS,
    WARP,
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    PutCommitOp,
    ReleaseOp,
    slot_results,
)
from tilec.dialect.tile_gpu.kernel import COMPUTE_ROLES
from tilec.dialect.tile_gpu.memory import LoadSharedOp, StoreSharedOp
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.tile_gpu.shape import ExtractOp, SplatOp
from tilec.dialect.tile_gpu.types import SHARED, BufferType, ChannelType
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.operation_role import CONTROL_FLOW, RoleOperation, is_repeatable
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.target import LANES

_GET, _RELEASE = GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
_LAYOUT = "contiguous=0 swizzle=none"
# Elements of fewer bits have no address of their own.
_LEAST_BITS = 8


@dataclass(frozen=True)
class Crossing:
    """A channel for the result of an operation, and the roles that get it, in the order of its consumers."""

    operation: ir.Operation
    roles: tuple[str, ...]
    channel: ir.Value
    tile: ir.RankedTensorType

    def put(self, value: ir.Value) -> None:
        """Stores the value for the other roles, at the insertion point."""
        if is_scalar(value.type):
            value = build(SplatOp.OPERATION_NAME, [value], [self.tile]).results[0]
        begin = build(PutBeginOp.OPERATION_NAME, [self.channel], slot_results(self.channel.type.buffers))
        build(StoreSharedOp.OPERATION_NAME, [value, begin.results[0]])
        build(PutCommitOp.OPERATION_NAME, [self.channel])

    def get(self, role: str) -> ir.Value:
        """Loads the value in another role, at the insertion point; `get_late` moves that to the first use."""
        consumer = {"consumer": self.roles.index(role)}
        slot = build(_GET, [self.channel], slot_results(self.channel.type.buffers), consumer)
        loaded = build(LoadSharedOp.OPERATION_NAME, [slot.results[0]], [self.tile]).results[0]
        build(_RELEASE, [self.channel], attributes=consumer)
        type = self.operation.results[0].type
        if is_scalar(type):
            loaded = build(ExtractOp.OPERATION_NAME, [loaded, [emitter.i32(0)]], [type]).results[0]
        return loaded


def make_crossing(operation: ir.Operation, roles: Sequence[str], warps: int) -> Crossing:
    """Declares the channel of a value of roles of so many warps, at the insertion point."""
    type = operation.results[0].type
    tile = _tile_of(type, warps) if is_scalar(type) else ir.RankedTensorType(type)
    buffer = BufferType.get(tuple(tile.shape), tile.element_type, SHARED, _LAYOUT)
    consumers = ir.ArrayAttr.get([ir.StringAttr.get(THREADS if name in COMPUTE_ROLES else WARP) for name in roles])
    reuse = "ring" if is_repeated(operation) else "once"
    attributes = {"stages": 1, "producer": THREADS, "consumers": consumers, "reuse": reuse}
    made = build(MakeChannelOp.OPERATION_NAME, [None], [ChannelType.get([buffer])], attributes)
    return Crossing(operation, tuple(roles), made.results[0], tile)


def get_late(crossing: Crossing) -> None:
    """Moves the gets of a value, and the arithmetic on it, in front of their first uses in the same block."""
    for get in [use.owner.operation for use in crossing.channel.uses if use.owner.name == _GET]:
        load, release, *rest = _behind(get)
        moved, values = [get, load, release], set(load.results)
        for op in rest:
            if values.isdisjoint(_operands(op)):
                continue
            if not is_repeatable(op):
                break
            moved.append(op)
            values.update(op.results)
        # The end of the block, if nothing in it uses the value.
        first_use = op
        for each in moved:
            each.move_before(first_use)


def _behind(op: ir.Operation) -> list[ir.Operation]:
    """The operations of the block behind an operation."""
    operations = [each.operation for each in op.block.operations]
    return operations[operations.index(op) + 1 :]


def _operands(op: ir.Operation) -> list[ir.Value]:
    """The operands of an operation and of those inside of it."""
    inside = operations_inside(op) if op.regions else []
    return [value for each in (op, *inside) for value in each.operands]


def _tile_of(element: ir.Type, warps: int) -> ir.RankedTensorType:
    """The tile of one element that every thread holds."""
    bases = ["(0)" * (count.bit_length() - 1) for count in (LANES, warps)]
    layout = f"register=none lane={bases[0]} warp={bases[1]} shape=1"
    return ir.RankedTensorType.get([1], element, ir.StringAttr.get(layout))


def source_of(value: ir.Value, unknown: set[ir.Value], operations: Sequence[RoleOperation]) -> ir.Operation | None:
    """The operation behind an unknown value whose result may cross; None if another one is behind it too."""
    known = {op.op: op for op in _all_operations(operations)}
    waiting, seen, found = [value], set[ir.Value](), dict[ir.Operation, None]()
    while waiting:
        value = waiting.pop()
        if value in seen or value not in unknown:
            continue
        seen.add(value)
        op = known[_owner(value)]
        if op.name in CONTROL_FLOW:
            waiting += _sources(op, value)
        elif op.is_repeatable:
            waiting += op.operands
        elif _may_cross(op):
            found[op.op] = None
        else:
            return None
    return next(iter(found), None)


def _all_operations(operations: Sequence[RoleOperation]) -> Iterator[RoleOperation]:
    for op in operations:
        yield op
        for body in op.bodies:
            yield from _all_operations(body.operations)


def _owner(value: ir.Value) -> ir.Operation:
    """The operation of a result, or the loop of a block argument."""
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _sources(op: RoleOperation, value: ir.Value) -> list[ir.Value]:
    """The values that an argument or a result of a loop or of a branch takes, and what decides about it."""
    if op.name == "scf.if":
        number = op.results.index(value)
        return [op.operands[0], *(body.end.operands[number] for body in op.bodies)]
    if op.name == "scf.for":
        (body,) = op.bodies
        if value == body.arguments[0]:
            return list(op.operands[:3])
        number = (op.results if value in op.results else body.arguments[1:]).index(value)
        return [*op.operands[:3], op.operands[3 + number], body.end.operands[number]]
    before, after = op.bodies
    if value in before.arguments:
        number = before.arguments.index(value)
        return [op.operands[number], after.end.operands[number]]
    number = (op.results if value in op.results else after.arguments).index(value)
    return [before.end.operands[0], before.end.operands[1 + number]]


def _may_cross(op: RoleOperation) -> bool:
    """Whether threads compute one element, which has an address in shared memory."""
    if op.role not in COMPUTE_ROLES or len(op.results) != 1:
        return False
    type = op.results[0].type
    if is_register_tile(type) and math.prod(ir.RankedTensorType(type).shape) == 1:
        type = ir.RankedTensorType(type).element_type
    return is_scalar(type) and element_bits(type) >= _LEAST_BITS
