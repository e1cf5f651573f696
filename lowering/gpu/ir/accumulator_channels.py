"""Accumulators: the slots in tensor memory that multiplies and threads use in turn, and the channels between both.

An accumulator that multiplies alone fill, and that threads read when they are complete, is a ring from mma to threads:
in a loop a second slot lets the next tile start. Any other one has one slot, which each side passes to the other
(hand_over.py): the accumulator then stays in its columns through loops, branches, and arithmetic on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import MMA, THREADS, SlotOp, slot_results
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp, Tcgen05MmaSparseOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.placed import (
    MultiplyOp,
    MultiplyScaledOp,
    MultiplySparseOp,
    PlaceOp,
    PlaceScalesOp,
    ReadOp,
    UndefinedOp,
)
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05MmaScaledOp
from tilec.dialect.tile_gpu.operations.shifted_rows import PlaceRowsOp, ShiftRowsOp
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.dialect.walk import owner_of, terminator_of
from tilec.lowering.gpu.ir.build_channels import ChannelDeclarations, Position, put_begin, put_commit, take
from tilec.lowering.gpu.ir.enclosing import ancestor_in, common_block, is_repeated, numbers_of
from tilec.lowering.gpu.ir.hand_over import HandOver
from tilec.lowering.gpu.ir.joined_values import CARRIERS, SELECT, Sets, carried_groups
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role

MULTIPLIES = {
    MultiplyOp.OPERATION_NAME: Tcgen05MmaOp.OPERATION_NAME,
    MultiplyScaledOp.OPERATION_NAME: Tcgen05MmaScaledOp.OPERATION_NAME,
    MultiplySparseOp.OPERATION_NAME: Tcgen05MmaSparseOp.OPERATION_NAME,
}
# The number of the operand of a multiply that may be in tensor memory.
_LHS = 1
# Operands of multiplies, which are copied to tensor memory.
_COPIED = tuple(op.OPERATION_NAME for op in (PlaceScalesOp, PlaceRowsOp, ShiftRowsOp))
_PLACE, _READ, _UNDEFINED = PlaceOp.OPERATION_NAME, ReadOp.OPERATION_NAME, UndefinedOp.OPERATION_NAME


@dataclass(eq=False)
class _Place:
    """One accumulator: its buffer, and the operations that use it, in program order.

    `over` is the buffer of operands in its columns; their places and the multiplies that read them use it too.
    """

    buffer: BufferType
    first: Position
    undefined: list[ir.Operation] = field(default_factory=list)
    accesses: list[ir.Operation] = field(default_factory=list)
    over: BufferType | None = None

    @property
    def operations(self) -> list[ir.Operation]:
        return [*self.undefined, *self.accesses]

    @property
    def role(self) -> str:
        """The role whose threads use it: they are of one chain (assign_roles.py)."""
        return next((compute_role(op) for op in self.accesses if op.name not in MULTIPLIES), COMPUTE)


def is_accumulator(value: ir.Value) -> bool:
    """Whether a placed tile in tensor memory is an accumulator, not an operand or scale factors of a multiply."""
    if not isinstance(value.type, BufferType) or value.type.memory != TENSOR:
        return False
    op = owner_of(value)
    if op is None or op.name not in (_PLACE, *_COPIED):
        return True
    return op.name == _PLACE and not all(map(is_operand, value.uses))


def is_in_accumulator(value: ir.Value) -> bool:
    """Whether a placed tile is an accumulator, or an operand in the columns of one."""
    return is_accumulator(value) or accumulator_under(value) is not None


def accumulator_under(value: ir.Value) -> ir.Value | None:
    """The accumulator in whose columns an operand is placed; None for other values."""
    op = owner_of(value)
    return op.opview.over if op is not None and op.name == _PLACE else None


def is_operand(use: ir.OpOperand) -> bool:
    """Whether a multiply reads a tile, which is not its accumulator."""
    return use.owner.operation.name in MULTIPLIES and use.operand_number > 0


class Accumulators:
    """The accumulators of a kernel, found before any operation is rewritten."""

    def __init__(self, operations: Sequence[ir.Operation]) -> None:
        """`operations` are all of the kernel in program order."""
        self._places = _places(operations)
        self._carrying = [op for op in operations if op.name in CARRIERS and _has_accumulator(op)]
        self._undefined = [op for op in operations if op.name == _UNDEFINED]

    def make_channels(self, declarations: ChannelDeclarations) -> None:
        """Rewrites the operations on all of them."""
        # An operand gets its slot before the multiply that reads it is replaced with its accumulator.
        for place in sorted(self._places, key=lambda place: place.over is None):
            if _is_filled_by_multiplies(place):
                _make_ring(place, declarations)
            # Loops without iterations leave accumulators without uses.
            elif place.accesses:
                _hand_over(place, declarations)
        stand_ins: dict[ir.Type, ir.Value] = {}

        def stand_in(type: ir.Type) -> ir.Value:
            if type not in stand_ins:
                with declarations.point():
                    stand_ins[type] = build(_UNDEFINED, [], [type]).results[0]
            return stand_ins[type]

        for op in reversed(self._carrying):
            _drop_accumulators(op, stand_in)
        for op in [*self._undefined, *(value.owner for value in stand_ins.values())]:
            op.erase()


def _has_accumulator(op: ir.Operation) -> bool:
    arguments = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
    return any(map(_is_buffer, (*op.results, *arguments)))


def _is_buffer(value: ir.Value) -> bool:
    return isinstance(value.type, BufferType)


def accumulator_sets(operations: Sequence[ir.Operation]) -> Sets:
    """The accumulators that have one place: multiplies, loops and branches join them."""
    sets = Sets()
    for op in operations:
        if op.name in MULTIPLIES:
            sets.join([op.results[0], op.operands[0]])
        for values in carried_groups(op):
            if is_accumulator(values[0]):
                sets.join(values)
    return sets


def _places(operations: Sequence[ir.Operation]) -> list[_Place]:
    owners = accumulator_sets(operations)
    using = (*MULTIPLIES, _PLACE, _READ, _UNDEFINED)
    places: dict[ir.Value, _Place] = {}
    for number, op in enumerate(operations):
        for value in _used_accumulators(op) if op.name in using else ():
            place = places.setdefault(owners.of(value), _Place(value.type, Position(number, op.location)))
            (place.undefined if op.name == _UNDEFINED else place.accesses).append(op)
            if op.name == _PLACE and op.opview.over is not None:
                place.over = op.results[0].type
    return list(places.values())


def _used_accumulators(op: ir.Operation) -> list[ir.Value]:
    values = [op.operands[0] if op.name == _READ else op.results[0]]
    if op.name in MULTIPLIES:
        values.append(op.operands[_LHS])
    found = [value if is_accumulator(value) else accumulator_under(value) for value in values]
    return [value for value in found if value is not None]


def _is_filled_by_multiplies(place: _Place) -> bool:
    """Whether multiplies fill an undefined place, and threads read it only when all of them are complete."""
    if not place.undefined:
        return False
    block = common_block(place.operations)
    order = numbers_of(block)
    numbers = {op: order[ancestor_in(op, block)] for op in place.operations}
    multiplied = [numbers[op] for op in place.accesses if op.name in MULTIPLIES]
    read = [numbers[op] for op in place.accesses if op.name not in MULTIPLIES]
    if not multiplied or any(op.name == _PLACE for op in place.accesses):
        return False
    started = min(numbers[op] for op in place.undefined)
    return started <= min(multiplied) and (not read or max(multiplied) < min(read))


def _make_ring(place: _Place, declarations: ChannelDeclarations) -> None:
    block = common_block(place.operations)
    inside = {op: ancestor_in(op, block) for op in place.operations}
    position = numbers_of(block).__getitem__
    last = max((inside[op] for op in place.accesses if op.name in MULTIPLIES), key=position)
    started = min((inside[op] for op in place.undefined), key=position)
    channel = declarations.channel(place.first, [place.buffer], MMA, [THREADS], is_ring=is_repeated(started))
    with place.undefined[0].location, ir.InsertionPoint(started):
        slot = put_begin(channel).results[0]
    with last.location, ir.InsertionPoint.after(last):
        put_commit(channel)
        got, released = take(channel)
    for step in (got, released):
        set_compute_role(step, place.role)
    reads = [inside[op] for op in place.accesses if op.name == _READ]
    if reads:
        got.move_before(min(reads, key=position))
        released.move_after(max(reads, key=position))
    for op in place.accesses:
        _access(op, slot if op.name in MULTIPLIES else got.results[0])


def _hand_over(place: _Place, declarations: ChannelDeclarations) -> None:
    to_threads = declarations.channel(place.first, [place.buffer], MMA, [THREADS], is_ring=False)
    lent = [place.over or place.buffer]
    to_mma = declarations.channel(place.first, lent, THREADS, [MMA], is_ring=False, shares=to_threads)
    HandOver(place.accesses, MULTIPLIES, to_threads, to_mma, place.role).insert()
    # They have accumulators of their own. The tensor core executes the multiplies of a thread in order, so that the
    # next one into these columns does not wait for them.
    multiplies = [op for op in place.accesses if op.name in MULTIPLIES]
    readers = [op for op in multiplies if accumulator_under(op.operands[_LHS]) is not None]
    for op in place.accesses:
        if op in readers:
            continue
        channel = to_mma if op.name == _PLACE and op.opview.over is not None else to_threads
        with op.location, ir.InsertionPoint(op):
            slot = build(SlotOp.OPERATION_NAME, [channel], slot_results(channel.type.buffers)).results[0]
        _access(op, slot)


def _access(op: ir.Operation, slot: ir.Value) -> None:
    """Replaces an operation on an accumulator by one on its slot."""
    with op.location, ir.InsertionPoint(op):
        if op.name == _PLACE:
            set_compute_role(build(StoreTensorMemoryOp.OPERATION_NAME, [op.operands[0], slot]), compute_role(op))
        elif op.name == _READ:
            loaded = build(LoadTensorMemoryOp.OPERATION_NAME, [slot], [op.results[0].type])
            set_compute_role(loaded, compute_role(op))
            op.results[0].replace_all_uses_with(loaded.results[0])
        else:
            attributes = {name: op.attributes[name] for name in op.attributes}
            build(MULTIPLIES[op.name], [slot, *op.operands[1:]], (), attributes)
    if op.name != _READ:
        # The value in the place: loops and branches that still carry it are rewritten last.
        op.results[0].replace_all_uses_with(slot)
    op.erase()


def _drop_accumulators(op: ir.Operation, stand_in: Callable[[ir.Type], ir.Value]) -> None:
    """Replaces a loop, a branch or a select by one without accumulators, which it alone may still use as arguments.

    Operations around it that still use an accumulator that it carries get a `stand_in` until they drop it too.
    """
    kept: Iterator[ir.Value] = iter(())
    if op.name != SELECT:
        types = [result.type for result in op.results if not _is_buffer(result)]
        operands = [value for value in op.operands if not _is_buffer(value)]
        attributes = {name: op.attributes[name] for name in op.attributes}
        with op.location, ir.InsertionPoint(op):
            made = ir.Operation.create(op.name, types, operands, attributes, regions=len(op.regions))
        for old, new in zip(op.regions, made.regions, strict=True):
            if len(old.blocks):
                _drop_from_block(old.blocks[0])
                old.blocks[0].append_to(new)
        kept = iter(made.results)
    for result in op.results:
        result.replace_all_uses_with(stand_in(result.type) if _is_buffer(result) else next(kept))
    op.erase()


def _drop_from_block(block: ir.Block) -> None:
    """Drops accumulators from the arguments of a block, and from the operands of its terminator."""
    end = terminator_of(block)
    with end.location, ir.InsertionPoint(end):
        ir.Operation.create(end.name, [], [value for value in end.operands if not _is_buffer(value)])
    end.erase()
    for number in reversed(range(len(block.arguments))):
        if _is_buffer(block.arguments[number]):
            block.erase_argument(number)
