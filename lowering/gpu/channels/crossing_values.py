"""Values of one element that threads compute and other roles need: they cross in shared memory.

The role that computes such a value puts it into a slot, and each role that needs it gets it there, at the same place:

compute:   %t = atomic_global ..;  put_begin;  store_shared %t;  put_commit
load:      get;  %t = load_shared;  release

The role gets it where it first uses it, and runs ahead until then: all of that precedes the next value in the program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, COPIES, THREADS, WARP
from tilec.dialect.tile_gpu.operations.claims import ClaimedBlockOp, claimed_types
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES, COPY, KernelOp
from tilec.dialect.tile_gpu.operations.memory import LoadSharedOp, StoreSharedOp
from tilec.dialect.tile_gpu.operations.shape import ExtractOp, SplatOp
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.tile_gpu.types import SHARED, BufferType
from tilec.dialect.walk import used_by, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.build_channels import get_slot, make_channel, put_begin, put_commit, release_slot
from tilec.lowering.gpu.ir.enclosing import is_repeated, operations_after
from tilec.lowering.gpu.ir.operation_role import CONTROL_FLOW, RoleOperation, is_repeatable, nested_operations
from tilec.lowering.gpu.ir.slots import GET, channels_of
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.target import LANES

CLAIMED = ClaimedBlockOp.OPERATION_NAME
_LAYOUT = "contiguous=0 swizzle=none"
# Elements of fewer bits have no address of their own.
_LEAST_BITS = 8


@dataclass(frozen=True)
class Crossing:
    """A channel for the result of an operation, and the roles that get it, in the order of its consumers."""

    operation: ir.Operation
    roles: tuple[str, ...]
    channel: ir.Value
    tile: ir.RankedTensorType | None

    @property
    def is_put(self) -> bool:
        """Whether the role that computes the value puts it; the response to a claim is in its channel already."""
        return self.tile is not None

    def put(self, value: ir.Value) -> None:
        """Stores the value for the other roles, at the insertion point."""
        if is_scalar(value.type):
            value = emitter.gpu(SplatOp, [value], [self.tile]).result
        emitter.gpu(StoreSharedOp, [value, put_begin(self.channel).result])
        put_commit(self.channel)

    def get(self, role: str) -> list[ir.Value]:
        """Loads the results in another role, at the insertion point; `get_late` moves that to the first use."""
        # The role of the operation is the first consumer of a claim.
        consumer = self.roles.index(role) + (0 if self.is_put else 1)
        slot = get_slot(self.channel, consumer).result
        if self.is_put:
            loaded = [emitter.gpu(LoadSharedOp, [slot], [self.tile]).result]
        else:
            loaded = list(emitter.gpu(ClaimedBlockOp, [slot], claimed_types()).results)
        release_slot(self.channel, consumer)
        type = self.operation.results[0].type
        if not self.is_put or not is_scalar(type):
            return loaded
        return [emitter.gpu(ExtractOp, [loaded[0], [emitter.i32(0)]], [type]).result]


def make_crossing(operation: ir.Operation, roles: Sequence[str], warps: int) -> Crossing:
    """Declares the channel of a value of roles of `warps` warps, at the insertion point."""
    consumers = [THREADS if name in COMPUTE_ROLES else COPIES if name == COPY else WARP for name in roles]
    if operation.name == CLAIMED:
        claims = operation.operands[0].owner.opview.channel
        # The role that loads requests a tile block while threads compute the one before.
        _share_claims(claims.owner, (THREADS, *consumers), slots=2)
        return Crossing(operation, tuple(roles), claims, None)
    type = operation.result.type
    tile = _tile_of(type, warps) if is_scalar(type) else ir.RankedTensorType(type)
    buffer = BufferType.get(tuple(tile.shape), tile.element_type, SHARED, _LAYOUT)
    channel = make_channel([buffer], THREADS, consumers, is_ring=is_repeated(operation))
    return Crossing(operation, tuple(roles), channel, tile)


def forget_consumers(kernel: KernelOp) -> None:
    """Leaves the threads as the only consumer of claims, in a kernel that stays whole."""
    for op in channels_of(kernel):
        if op.producer == CLAIMS:
            _share_claims(op.operation, (THREADS,), slots=1)


def _share_claims(channel: ir.Operation, consumers: Sequence[str], slots: int) -> None:
    channel.attributes["consumers"] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in consumers])
    channel.attributes["stages"] = ir.IntegerAttr.get(emitter.integer_type(32), slots)


def get_late(crossing: Crossing) -> None:
    """Moves the gets of a value, and the arithmetic on it, to before their first uses in the same block."""
    for get in [user for user in users_of(crossing.channel) if user.name == GET]:
        load, release, *rest = operations_after(get)
        moved, values = [get, load, release], set(load.results)
        for op in rest:
            if values.isdisjoint(used_by([op])):
                continue
            if not is_repeatable(op):
                break
            moved.append(op)
            values.update(op.results)
        # The end of the block, if nothing in it uses the value.
        first_use = op
        for each in moved:
            each.move_before(first_use)


def _tile_of(element: ir.Type, warps: int) -> ir.RankedTensorType:
    """The tile of one element that every thread holds."""
    bases = ["(0)" * (count.bit_length() - 1) for count in (LANES, warps)]
    layout = f"register=none lane={bases[0]} warp={bases[1]} shape=1"
    return ir.RankedTensorType.get([1], element, ir.StringAttr.get(layout))


def source_of(value: ir.Value, unknown: set[ir.Value], operations: Sequence[RoleOperation]) -> ir.Operation | None:
    """The operation whose result may cross, for a value that needs it; None if the value needs another one as well."""
    known = {op.op: op for op in nested_operations(operations)}
    waiting, seen, found = [value], set[ir.Value](), dict[ir.Operation, None]()
    while waiting:
        value = waiting.pop()
        if value in seen or value not in unknown:
            continue
        seen.add(value)
        op = known[_owner(value)]
        if op.name in CONTROL_FLOW:
            carried = next(each for each in op.carried if value in each.targets)
            waiting += [*carried.decisions, *carried.sources]
        elif op.is_repeatable:
            waiting += op.operands
        elif _may_cross(op):
            found[op.op] = None
        else:
            return None
    return next(iter(found), None)


def _owner(value: ir.Value) -> ir.Operation:
    """The operation of a result, or the loop of a block argument."""
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _may_cross(op: RoleOperation) -> bool:
    """Whether threads compute one element, which has an address in shared memory, or read the response to a claim."""
    if op.name == CLAIMED:
        return True
    if op.role not in COMPUTE_ROLES or len(op.results) != 1:
        return False
    type = op.results[0].type
    if is_register_tile(type) and math.prod(ir.RankedTensorType(type).shape) == 1:
        type = ir.RankedTensorType(type).element_type
    return is_scalar(type) and element_bits(type) >= _LEAST_BITS
