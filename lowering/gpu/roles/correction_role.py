"""The work of threads on accumulators gets a role of its own, beside chains of tiles that have roles.

In attention, the threads of a chain compute exponentials while others multiply the sums of the iteration before by one
factor per row, so that the next multiply waits for the later of both, not for one after the other:

before:   compute: s0 -> a0, p0;  o0 * a0          compute1: s1 -> a1, p1;  o1 * a1
after:    compute: s0 -> a0, p0   compute1: s1 -> a1, p1   compute2: o0 * a0;  o1 * a1, and values computed from them

The factors cross in shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.operations.placed import PlaceOp, ReadOp
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, ConvertLayoutOp, ExtractOp, MathOp, ReshapeOp, SplatOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import SHARED, BufferType
from tilec.dialect.walk import operations_in, owner_of, users_of
from tilec.lowering.gpu.ir.accumulator_channels import MULTIPLIES, accumulator_sets, accumulator_under, is_accumulator
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.operation_role import set_compute_role
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.gpu.memory.staging import is_staged

_PLACE, _READ = PlaceOp.OPERATION_NAME, ReadOp.OPERATION_NAME
# Operations without effects, whose operands are in registers.
_PURE = (
    *("arith.", "math."),
    *(op.OPERATION_NAME for op in (BroadcastOp, ConvertLayoutOp, MathOp, ReshapeOp, SplatOp)),
)
# Operations of the role itself for larger tiles, if nothing else needs it: arithmetic, and loads by threads.
_COMPUTED = (*_PURE, ExtractOp.OPERATION_NAME, *GLOBAL_LOADS)
_FACTOR_BITS = 32


@dataclass(frozen=True)
class Correction:
    """The operations of a chain on its accumulators, and the uses of tiles that the rest of the chain computes."""

    members: list[ir.Operation]
    crossing: dict[ir.Value, list[ir.OpOperand]]


def correction(
    chain: Sequence[ir.Operation], operations: Sequence[ir.Operation], shared: Collection[ir.Operation]
) -> Correction | None:
    """The part of a chain that another role may execute; None if there is none.

    `operations` are all of the kernel in program order; any role may compute those that are `shared`.
    """
    accesses = _accesses(chain, operations)
    members = _computed_from(accesses, set(chain)) if accesses else None
    if members is None:
        return None
    crossing = _crossing(members, set(shared))
    if crossing is None:
        return None
    uses = {value: [use for use in value.uses if use.owner.operation in members] for value in crossing}
    return Correction([op for op in operations if op in members], uses)


def _accesses(chain: Sequence[ir.Operation], operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The reads and places of the accumulators that the chain reads and places in loops."""
    sets = accumulator_sets(operations)
    used = {op: value for op in chain if op.name in (_READ, _PLACE) and (value := _accumulator(op)) is not None}
    repeated = [(op.name, sets.of(value)) for op, value in used.items() if is_repeated(op)]
    return [op for op, value in used.items() if all((name, sets.of(value)) in repeated for name in (_READ, _PLACE))]


def _accumulator(op: ir.Operation) -> ir.Value | None:
    value = op.operands[0] if op.name == _READ else op.results[0]
    return value if is_accumulator(value) else None


def _computed_from(accesses: Sequence[ir.Operation], chain: Collection[ir.Operation]) -> set[ir.Operation] | None:
    """The accesses, and operations that need the tiles they read; None if the rest of the chain needs the results."""
    members = set(accesses)
    waiting = [op.results[0] for op in accesses if op.name == _READ]
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user in members:
                continue
            if user not in chain or user.name == _PLACE and not is_staged(user):
                return None
            members.add(user)
            waiting += [result for result in user.results if is_register_tile(result.type)]
    return members


def _crossing(members: set[ir.Operation], shared: Collection[ir.Operation]) -> list[ir.Value] | None:
    """The tiles of one element per row that members need, to which operations for them alone are added; else None."""
    found = dict[ir.Value, None]()
    waiting = list(members)
    while waiting:
        for value in waiting.pop().operands:
            owner = owner_of(value)
            if not is_register_tile(value.type) or owner is not None and (owner in members or owner in shared):
                continue
            if _is_factor(value.type):
                found[value] = None
            elif owner is not None and owner.name.startswith(_COMPUTED) and members.issuperset(users_of(value)):
                members.add(owner)
                waiting.append(owner)
            else:
                return None
    return list(found)


def _is_factor(tile: ir.RankedTensorType) -> bool:
    return math.prod(tile.shape) == tile.shape[0] and element_bits(tile.element_type) == _FACTOR_BITS


def assign_correction(found: Correction, chain_role: str, role: str) -> None:
    """Gives the operations to a role; the tiles that they need of the role of their chain are placed and read."""
    for op in found.members:
        set_compute_role(op, role)
    ordered = [value for value in found.crossing if _is_read_before_next(value, found.members)]
    for value, uses in found.crossing.items():
        _compute_early(value)
        op = owner_of(value)
        point = ir.InsertionPoint.at_block_begin(value.owner) if op is None else ir.InsertionPoint.after(op)
        with value.location, point:
            buffer = BufferType.get(value.type.shape, value.type.element_type, SHARED, "contiguous=0 swizzle=none")
            placed = build(_PLACE, [value], [buffer], {"read_before_next": True} if value in ordered else {})
            read = build(_READ, [placed.results[0]], [value.type])
        set_compute_role(placed, chain_role)
        set_compute_role(read, role)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = read.results[0]


def _compute_early(value: ir.Value) -> None:
    """Moves the operations that compute a tile of one element per row to where their operands are known."""
    found = _computing_factors(value)
    for block in dict.fromkeys(op.block for op in found):
        for op in [each for each in operations_in(block) if each in found]:
            _move_after_operands(op)


def _computing_factors(value: ir.Value) -> set[ir.Operation]:
    """The operations without effects on tiles of one element per row from which such a tile is computed."""
    found: set[ir.Operation] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        op = owner_of(value)
        if op is None or op in found or not op.name.startswith(_PURE):
            continue
        if is_register_tile(value.type) and _is_factor(value.type):
            found.add(op)
            waiting += op.operands
    return found


def _move_after_operands(op: ir.Operation) -> None:
    owners = map(owner_of, op.operands)
    inside = [owner for owner in owners if owner is not None and owner.block == op.block]
    for owner in inside:
        if all(other == owner or other.is_before_in_block(owner) for other in inside):
            op.move_after(owner)
            return


def _is_read_before_next(factor: ir.Value, updates: Collection[ir.Operation]) -> bool:
    """Whether the factor of an iteration is read before the next one is computed: its slot needs no empty barrier.

    In a loop of attention, the chain of an iteration ends where the chain of the next one begins:

        s = q @ k;  a = max of s;  p over s      the chain: the factor a is computed from the sums s
        o1 = o * a                               the correction role: it reads a
        o2 = p @ v + o1                          the multiply waits for o1 and p, which is in the columns of s

    The sums of the next iteration are in those columns too, so that they follow p @ v, which follows the read of a.
    `updates` are the operations of the role that reads it, before the factor crosses in shared memory.
    """
    owner = owner_of(factor)
    if owner is None:
        return False
    block = owner.block
    needed = set(_operations_before(factor, block))
    for multiply in [op for op in operations_in(block) if op.name in MULTIPLIES]:
        update, sums = owner_of(multiply.operands[0]), accumulator_under(multiply.operands[1])
        if sums is None or update is None or update.name != _PLACE or update not in updates or update.block != block:
            continue
        is_read = any(op.name == _READ and op.operands[0] == sums for op in needed)
        if is_read and owner in _operations_before(update.operands[0], block):
            return True
    return False


def _operations_before(value: ir.Value, block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a block from whose results a value is computed."""
    waiting, seen = [value], set[ir.Operation]()
    while waiting:
        op = owner_of(waiting.pop())
        if op is not None and op.block == block and op not in seen:
            seen.add(op)
            waiting += op.operands
            yield op
