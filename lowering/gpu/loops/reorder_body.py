"""The operations of a body in another order, as far as their operands and the places that they access allow.

Operations have a rank: the least one goes first, with all that has to precede it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import ReleaseOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import ScheduleBarrierOp
from tilec.dialect.walk import owner_of, terminator_of, with_inner
from tilec.lowering.gpu.ir.accessed_places import EVERYTHING, AccessedPlaces, Place
from tilec.lowering.gpu.ir.slots import GET

# Operations by number, with the numbers of those that they follow.
Dependences = list[set[int]]
_WAIT, _RELEASE = WgmmaWaitOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME


def reorder_body(
    operations: Sequence[ir.Operation], preceding: Dependences, ranks: Mapping[int, int], *, is_exact: bool = False
) -> list[int]:
    """Moves the operations of a body, with their dependences, in place; returns their numbers in the new order.

    The `ranks` are by number. An operation without one has that of the first one that uses its results, else that of
    the one it follows. Where the order `is_exact`, operations with ranks are in their order, which dependences allow;
    else as far as these allow it, waits in the order of their multiplies, and those whose results the next iteration
    uses late.
    """
    if is_exact:
        order = _sorted(preceding, _all_ranks(operations, preceding, ranks))
        ranked = [ranks[number] for number in order if number in ranks]
        assert ranked == sorted(ranked), "no operation precedes one on which it depends"
    else:
        late = _late_waits(operations, preceding, max(ranks.values(), default=0) + 1)
        order = _sorted(preceding, _all_ranks(operations, preceding, {**ranks, **late}))
        order = _with_waits_in_order(operations, order)
    end = terminator_of(operations[0].block) if operations else None
    for number in order:
        operations[number].move_before(end)
    return order


def _with_waits_in_order(operations: Sequence[ir.Operation], order: Sequence[int]) -> list[int]:
    """An order of operations, with waits in that of the multiplies of warpgroups, which are complete in their order."""
    waits = {
        op.operands[0].owner.operation: number
        for number, op in enumerate(operations)
        if op.name == _WAIT and _has_multiply(op)
    }
    found, issued = list[int](), list[ir.Operation]()
    for number in order:
        op = operations[number]
        if op in waits:
            issued.append(op)
        if op.name != _WAIT or not _has_multiply(op):
            found.append(number)
            continue
        while op.operands[0].owner.operation in issued:
            found.append(waits[issued.pop(0)])
    return found


def _has_multiply(wait: ir.Operation) -> bool:
    """Whether the multiply of a wait is an operation, not a carried value."""
    return not isinstance(wait.operands[0].owner, ir.Block)


def dependences(operations: Sequence[ir.Operation]) -> Dependences:
    """What each operation of a body follows in every order: its operands, and accesses of the same place before it.

    What follows from other dependences is not listed.
    """
    numbers = {op: number for number, op in enumerate(operations)}
    preceding: Dependences = []
    accesses, places = _Accesses(), AccessedPlaces()
    for number, op in enumerate(operations):
        found = {numbers[owner] for owner in _owners(op) if owner in numbers}
        preceding.append(found | accesses.added(number, places.of(_placed_as(number, operations))))
    for wait, writer in _register_writes(operations):
        if writer in numbers and numbers[writer] > numbers[wait]:
            preceding[numbers[writer]].add(numbers[wait])
    return preceding


def _register_writes(operations: Sequence[ir.Operation]) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Waits for multiplies that read a carried tile, each with what computes the tile for the next iteration.

    Both tiles have the same registers.
    """
    for wait in (op for op in operations if op.name == _WAIT and _has_multiply(op)):
        body = wait.block
        end = terminator_of(body)
        for value in wait.operands[0].owner.operation.operands:
            if value.owner == body and value != body.arguments[0]:
                passed = end.operands[list(body.arguments).index(value) - 1]
                if not isinstance(passed.owner, ir.Block):
                    yield wait, passed.owner.operation


def access_dependences(operations: Sequence[ir.Operation]) -> set[tuple[int, int, int]]:
    """The accesses of one place that keep their order, in two iterations of a body.

    Each is the number of an operation, that of the one that it follows, and the number of iterations between.
    """
    accessed = AccessedPlaces()
    places = [accessed.of(_placed_as(number, operations)) for number in range(len(operations))]
    accesses, count = _Accesses(), len(operations)
    found = set[tuple[int, int, int]]()
    for number in range(2 * count):
        for before in accesses.added(number, places[number % count]):
            found.add((number % count, before % count, number // count - before // count))
    return found


def _placed_as(number: int, operations: Sequence[ir.Operation]) -> ir.Operation:
    """The operation with whose accesses one stays: a schedule_barrier has those of the signal before it.

    The assembler moves nothing over a schedule_barrier.
    """
    is_barrier = operations[number].name == ScheduleBarrierOp.OPERATION_NAME
    return operations[number - 1] if is_barrier and number else operations[number]


@dataclass
class _Accesses:
    """For each place the last operation that wrote it, and those that have read it since."""

    written: dict[Place, int] = field(default_factory=dict)
    read: defaultdict[Place, set[int]] = field(default_factory=lambda: defaultdict(set))

    def added(self, number: int, places: Mapping[Place, bool]) -> set[int]:
        """Adds the accesses of an operation; returns those that it follows."""
        if EVERYTHING in places:
            found = {*self.written.values(), *(each for numbers in self.read.values() for each in numbers)}
            self.written, self.read = {EVERYTHING: number}, defaultdict(set)
            return found
        found = set[int]()
        for place, is_written in places.items():
            found |= {self.written[each] for each in (place, EVERYTHING) if each in self.written}
            if is_written:
                found |= self.read.pop(place, set())
                self.written[place] = number
            else:
                self.read[place].add(number)
        return found


def _owners(op: ir.Operation) -> list[ir.Operation]:
    """The operations whose results an operation, or one inside of it, uses."""
    inside = with_inner(op)
    values = (value for each in inside for value in each.operands)
    return [op for op in map(owner_of, values) if op is not None]


def spread(
    operations: Sequence[ir.Operation], preceding: Dependences, known: Mapping[int, int], *, is_rank: bool
) -> list[int | None]:
    """A number for each operation of a body, from those of some.

    As a rank, one that only provides operands has the least of its users. As a number of iterations ahead, it has the
    greatest; a wait for a multiply has that of the multiply. A get of a place, whose slot nothing uses, and its release
    provide the place. Any other has the number of the last one that it follows.
    """
    numbers: list[int | None] = [known.get(number) for number in range(len(operations))]
    users = _users(operations, preceding)
    places = {op.operands[0] for op in operations if op.name == GET and not list(op.results[0].uses)}
    for number, before in enumerate(preceding):
        for source in before:
            if operations[source].name in (GET, _RELEASE) and operations[source].operands[0] in places:
                users[source].append(number)
    chosen = min if is_rank else max
    for number in reversed(range(len(operations))):
        found = [each for user in users[number] if (each := numbers[user]) is not None]
        if numbers[number] is None and found and (is_rank or operations[number].name != _WAIT):
            numbers[number] = chosen(found)
    for number, before in enumerate(preceding):
        found = [each for source in sorted(before) if (each := numbers[source]) is not None]
        if numbers[number] is None and found:
            numbers[number] = found[-1]
    return numbers


def _users(operations: Sequence[ir.Operation], preceding: Dependences) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in operations]
    for number, before in enumerate(preceding):
        owners = set(_owners(operations[number]))
        for source in before:
            if operations[source] in owners:
                users[source].append(number)
    return users


def _late_waits(operations: Sequence[ir.Operation], preceding: Dependences, rank: int) -> dict[int, int]:
    """A rank for each wait whose result only the next iteration uses."""
    users = _users(operations, preceding)
    return {number: rank for number, op in enumerate(operations) if op.name == _WAIT and not users[number]}


def _all_ranks(operations: Sequence[ir.Operation], preceding: Dependences, ranks: Mapping[int, int]) -> list[int]:
    """The ranks of all operations; what has to precede an operation has no greater one."""
    last = max(ranks.values(), default=0) + 1
    found = [last if rank is None else rank for rank in spread(operations, preceding, ranks, is_rank=True)]
    for number in reversed(range(len(operations))):
        for source in preceding[number]:
            found[source] = min(found[source], found[number])
    return found


def _sorted(preceding: Dependences, ranks: Sequence[int]) -> list[int]:
    """The numbers in an order that follows the dependences, at each place the least rank, then the least number."""
    waiting = [len(before) for before in preceding]
    following: defaultdict[int, list[int]] = defaultdict(list)
    for number, before in enumerate(preceding):
        for source in before:
            following[source].append(number)
    ready = [(ranks[number], number) for number, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for user in following[number]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (ranks[user], user))
    return order
