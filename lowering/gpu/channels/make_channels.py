"""Placed tiles become slots of channels: put where they are defined, got before the first use, then released.

before:   %a = load_tile %map[..]           %d = multiply %a, ..
after:    put_begin, tma_load, put_commit   get, tcgen05_mma, release

Tiles that TMA stores get staging buffers (staging.py), accumulators channels of their own (accumulator_channels.py).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.build import attributes_without_segments, build, copied
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import PLACED_MULTIPLIES
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, CLUSTER, MMA, THREADS, TMA, WGMMA
from tilec.dialect.tile_gpu.operations.claims import ClaimBlockOp, TryCancelOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, KernelOp, kernel_around
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import (
    LoadSharedOp,
    LoadSharedRowsOp,
    LoadTensorMemoryOp,
    StoreSharedOp,
    StoreTensorMemoryOp,
)
from tilec.dialect.tile_gpu.operations.placed import (
    GatherTileOp,
    LoadTileOp,
    MultiplyOp,
    MultiplyScaledOp,
    MultiplySparseOp,
    PlaceOp,
    PlaceScalesOp,
    ReadOp,
    ReadRowsOp,
    UndefinedOp,
)
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05CopyScalesOp
from tilec.dialect.tile_gpu.operations.shifted_rows import (
    PlaceRowsOp,
    ShiftRowsOp,
    Tcgen05CopyRowsOp,
    Tcgen05ShiftRowsOp,
)
from tilec.dialect.tile_gpu.operations.tma import TmaGatherOp, TmaLoadOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.dialect.walk import operations_inside, owner_of, users_of
from tilec.lowering.gpu.ir.accumulator_channels import Accumulators, is_in_accumulator
from tilec.lowering.gpu.ir.build_channels import (
    ChannelDeclarations,
    Position,
    get_slot,
    put_begin,
    put_commit,
    release_slot,
)
from tilec.lowering.gpu.ir.enclosing import ancestor_in, is_repeated
from tilec.lowering.gpu.ir.multiplies_of_one_lhs import gather_multiplies, multiplies_of_one_lhs
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import VIEW, users_of_slot, without_views
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.staging import is_staged, make_staging_buffers

_ROWS, _SHIFT = PlaceRowsOp.OPERATION_NAME, ShiftRowsOp.OPERATION_NAME
# The copies of tiles from shared to tensor memory, in the same slot.
_COPIES = {PlaceScalesOp.OPERATION_NAME: Tcgen05CopyScalesOp.OPERATION_NAME, _ROWS: Tcgen05CopyRowsOp.OPERATION_NAME}
_CLAIM = ClaimBlockOp.OPERATION_NAME
_LOADS = {
    LoadTileOp.OPERATION_NAME: TmaLoadOp.OPERATION_NAME,
    GatherTileOp.OPERATION_NAME: TmaGatherOp.OPERATION_NAME,
    _CLAIM: TryCancelOp.OPERATION_NAME,
}
_PRODUCERS = {PlaceOp.OPERATION_NAME: THREADS, _CLAIM: CLAIMS}
_PLACE = PlaceOp.OPERATION_NAME
_PLACED = (*_LOADS, _PLACE, UndefinedOp.OPERATION_NAME)
# Who reads an operand in shared memory, by the operation; threads unless listed.
_CONSUMERS = {
    MultiplyOp.OPERATION_NAME: MMA,
    MultiplyScaledOp.OPERATION_NAME: MMA,
    MultiplySparseOp.OPERATION_NAME: MMA,
    **dict.fromkeys((*_COPIES, _SHIFT), MMA),
    WgmmaOp.OPERATION_NAME: WGMMA,
    GatherTileOp.OPERATION_NAME: TMA,
}
# The operations that write and read the buffer of a slot, by its memory.
_ACCESSES = {
    SHARED: (StoreSharedOp.OPERATION_NAME, LoadSharedOp.OPERATION_NAME),
    TENSOR: (StoreTensorMemoryOp.OPERATION_NAME, LoadTensorMemoryOp.OPERATION_NAME),
}
# The slots of a ring of which a consumer has two at once.
_OVERLAPPING_SLOTS = 2


@dataclass(frozen=True)
class _Consumer:
    """Who reads a placed tile; `role` tells threads of several roles apart.

    `is_late` tells multiplies apart that need a tile of threads of the same iteration: others may run ahead of them.
    """

    name: str
    role: str = COMPUTE
    is_late: bool = False


@dataclass(frozen=True)
class _Hold:
    """One consumer's hold of a slot: its users, and the first and last operation in the tile's block around them."""

    consumer: _Consumer
    users: tuple[ir.Operation, ...]
    first: ir.Operation
    last: ir.Operation


@dataclass(frozen=True)
class _PlacedTile:
    """A placed tile and the plan for its slot, made before any operand changes: the hash of an operation does too."""

    operation: ir.Operation
    position: Position
    buffers: tuple[BufferType, ...]
    holds: tuple[_Hold, ...]


def make_channels(kernel: KernelOp, _context: Context | None = None) -> None:
    """Rewrites a tile_gpu.kernel in place; without placed tiles it stays as it is."""
    if not _has_placed_tiles(kernel):
        return
    gather_multiplies(operations_inside(kernel))
    operations = operations_inside(kernel)
    declarations = ChannelDeclarations(kernel, operations)
    numbers = {op: number for number, op in enumerate(operations)}
    accumulators = Accumulators(operations)
    staged, groups = [], defaultdict[object, list[_PlacedTile]](list)
    for number, op in enumerate(operations):
        if is_staged(op):
            staged.append((op, Position(number, op.location)))
        elif op.name in _LOADS or op.name == _PLACE and not is_in_accumulator(op.results[0]):
            groups[_group(op)].append(_placed_tile(op, numbers))
    make_staging_buffers(kernel, staged, declarations)
    for members in groups.values():
        _make_channel(members, declarations)
    accumulators.make_channels(declarations)
    declarations.finish()


def with_channels(module: ir.Module) -> ir.Module:
    """The module itself if it has no placed tiles, else a copy in which they have channels."""
    if not any(_has_placed_tiles(op) for op in module.body.operations):
        return module
    made = copied(module)
    for op in made.body.operations:
        if isinstance(op, KernelOp):
            make_channels(op)
    return made


def _has_placed_tiles(op: ir.OpView) -> bool:
    return any(inner.name in _PLACED for inner in operations_inside(op))


def _group(op: ir.Operation) -> object:
    """A key that is equal for operations that fill one channel in turn."""
    if "group" not in op.attributes:
        return op.results[0]
    return op.attributes["group"], op.results[0].type, op.block, compute_role(op)


def _placed_tile(op: ir.Operation, numbers: dict[ir.Operation, int]) -> _PlacedTile:
    users_by_consumer = defaultdict[_Consumer, list[ir.Operation]](list)
    for user in _users(op):
        users_by_consumer[_consumer(user, op)].append(user)
    holds = []
    # Threads last: they read a tile right after it was loaded, and so would always be first.
    for consumer in sorted(users_by_consumer, key=lambda each: each.name == THREADS) or [_Consumer(THREADS)]:
        users = tuple(users_by_consumer[consumer])
        # Instructions of multiplies of one lhs alternate, so that all of them need the operands of each. Operands that
        # use one slot in turn are not there at once.
        is_alone = "group" not in op.attributes
        together = [other for user in users for other in (multiplies_of_one_lhs(user) if is_alone else [user])]
        ends = [*together, *(end for user in users for end in (*_waits(user), *_readers_of_rows(user)))]
        inside = sorted((ancestor_in(end, op.block) for end in ends), key=numbers.__getitem__) or [op]
        holds.append(_Hold(consumer, users, inside[0], inside[-1]))
    return _PlacedTile(op, Position(numbers[op], op.location), _buffers(op), tuple(holds))


def _waits(user: ir.Operation) -> list[ir.Operation]:
    """The operations that wait until an asynchronous user has read its operands."""
    if user.name != WgmmaOp.OPERATION_NAME:
        return []
    waits, value, later = list[ir.Operation](), user.results[0], 0
    # Later multiplies may add to sums in flight.
    while not waits:
        found = next((op for op in users_of(value) if op.name in (WgmmaWaitOp.OPERATION_NAME, user.name)), None)
        if found is None:
            return []
        if found.name == user.name:
            later += 1
        elif found.opview.pending <= later:
            waits.append(found)
        value = found.results[0]
    return waits


def _readers_of_rows(user: ir.Operation) -> list[ir.Operation]:
    """The multiplies that read the rows of a run in tensor memory, and their shifts."""
    return users_of(user.results[0]) if user.name in (_ROWS, _SHIFT) else []


def _make_channel(members: list[_PlacedTile], declarations: ChannelDeclarations) -> None:
    first = members[0]
    producer = _PRODUCERS.get(first.operation.name, TMA)
    consumers = [hold.consumer.name for hold in first.holds]
    is_read_before_next = first.operation.name == _PLACE and first.operation.opview.read_before_next
    is_ring = len(members) > 1 or is_repeated(first.operation) and not is_read_before_next
    late = [_overlap([tile.holds[number] for tile in members]) for number in range(len(first.holds))]
    slots = _OVERLAPPING_SLOTS if any(late) else 1
    channel = declarations.channel(first.position, first.buffers, producer, consumers, is_ring=is_ring, slots=slots)
    if producer == CLAIMS and kernel_around(channel.owner).ctas > 1:
        channel.owner.attributes["across"] = ir.StringAttr.get(CLUSTER)
    for tile in members:
        _fill(tile.operation, channel)
        for number, hold in enumerate(tile.holds):
            _hold(tile, hold, number, channel, is_late=late[number])
        _erase(tile.operation)


def _overlap(holds: Sequence[_Hold]) -> bool:
    """Whether a consumer gets a slot before it has released the one before."""
    return any(after.first.is_before_in_block(before.last) for before, after in itertools.pairwise(holds))


def _users(op: ir.Operation) -> Iterator[ir.Operation]:
    """The operations that use a placed tile, perhaps through views."""
    return (user for user in users_of_slot(op.results[0]) if user.name != VIEW)


def _consumer(user: ir.Operation, tile: ir.Operation) -> _Consumer:
    name = _CONSUMERS.get(user.name, THREADS)
    role = compute_role(user) if name in (THREADS, WGMMA) else COMPUTE
    return _Consumer(name, role, name == MMA and tile.name in _LOADS and _is_late(user, tile.block))


def _is_late(multiply: ir.Operation, block: ir.Block) -> bool:
    """Whether a multiply in a loop has an operand that threads place, or sums that they read, in the same block."""
    if multiply.name not in PLACED_MULTIPLIES or not is_repeated(multiply) or multiply.block != block:
        return False
    owners = (owner_of(without_views(value)) for value in multiply.operands)
    made = [op for op in owners if op is not None and op.block == block]
    if any(op.name == _PLACE or op.name == multiply.name and _is_late(op, block) for op in made):
        return True
    return any(user.name == ReadOp.OPERATION_NAME for user in users_of(multiply.opview.accumulator))


def _buffers(op: ir.Operation) -> tuple[BufferType, ...]:
    """The buffers of a slot: that of the tile, and that of its copy in tensor memory."""
    copies = [user.results[0].type for user in _users(op) if user.name in _COPIES]
    return (op.results[0].type, *copies[:1])


def _fill(op: ir.Operation, channel: ir.Value) -> None:
    with op.location, ir.InsertionPoint(op):
        begin = put_begin(channel)
        slot = begin.results[0]
        made = [begin]
        if op.name == _PLACE:
            made.append(build(_ACCESSES[slot.type.memory][0], [op.operands[0], slot]))
        else:
            _copy(op, slot, channel)
        made.append(put_commit(channel))
    for step in made:
        set_compute_role(step, compute_role(op))


def _copy(op: ir.Operation, slot: ir.Value, channel: ir.Value) -> None:
    """The copy by TMA of a load: it has the same operands, and the buffer and the channel that it fills."""
    view = op.opview
    if op.name == LoadTileOp.OPERATION_NAME:
        operands = [view.map, list(view.coordinates), list(view.offsets), None, slot, channel]
    else:
        operands = [*op.operands, slot, channel]
    attributes = {name: value for name, value in attributes_without_segments(view).items() if name != "group"}
    build(_LOADS[op.name], operands, (), attributes)


def _hold(tile: _PlacedTile, hold: _Hold, number: int, channel: ir.Value, *, is_late: bool) -> None:
    """Gets the slot before the first user, gives each its buffer, and releases the slot after the last."""
    op = tile.operation
    with hold.first.location, ir.InsertionPoint(hold.first) if hold.users else ir.InsertionPoint.after(op):
        got = get_slot(channel, number)
    with op.location, ir.InsertionPoint.after(hold.last if hold.users else got):
        released = release_slot(channel, number, is_late=is_late)
    for step in (got, released):
        set_compute_role(step, hold.consumer.role)
    views = {op.results[0]: got.results[0]}
    for user in hold.users:
        _use_slot(user, op.results[0], views, got)


def _use_slot(user: ir.Operation, tile: ir.Value, views: dict[ir.Value, ir.Value], got: ir.Operation) -> None:
    """Gives the user of a tile the slot, or the same view of it; `views` has the views that are made."""
    for number, operand in enumerate(user.operands):
        if without_views(operand) == tile:
            user.operands[number] = _viewed(operand, views, got)
    if user.name not in (*_COPIES, _SHIFT, ReadOp.OPERATION_NAME, ReadRowsOp.OPERATION_NAME):
        return
    with user.location, ir.InsertionPoint(user):
        if user.name in _COPIES:
            result = got.results[1]
            build(_COPIES[user.name], [user.operands[0], result])
        elif user.name == _SHIFT:
            result = got.results[1]
            attributes = {name: user.attributes[name] for name in user.attributes}
            build(Tcgen05ShiftRowsOp.OPERATION_NAME, [user.opview.source, result], (), attributes)
        else:
            made = _load(user)
            set_compute_role(made, compute_role(user))
            result = made.results[0]
    user.results[0].replace_all_uses_with(result)
    user.erase()


def _load(read: ir.Operation) -> ir.Operation:
    """The load from shared or tensor memory that replaces a read of a slot."""
    types = [read.results[0].type]
    if read.name == ReadRowsOp.OPERATION_NAME:
        attributes = {"first": read.opview.first}
        return build(LoadSharedRowsOp.OPERATION_NAME, list(read.operands), types, attributes).operation
    source = read.operands[0]
    return build(_ACCESSES[source.type.memory][1], [source], types).operation


def _viewed(value: ir.Value, views: dict[ir.Value, ir.Value], got: ir.Operation) -> ir.Value:
    """The same view of the slot."""
    if value not in views:
        view = value.owner.operation
        source = _viewed(view.operands[0], views, got)
        with view.location, ir.InsertionPoint.after(got):
            views[value] = build(VIEW, [source], [value.type]).results[0]
    return views[value]


def _erase(op: ir.Operation) -> None:
    """Erases an operation and the views of its result."""
    for user in users_of(op.results[0]):
        _erase(user)
    op.erase()
