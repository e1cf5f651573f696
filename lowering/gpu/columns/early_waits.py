"""Threads wait for the slot of an operand before they compute the last columns of the function that they store there.

before:   exp2 %x;  put_begin;  truncf;  store ..;  put_commit;  sum
after:    exp2 of first columns;  put_begin;  exp2 of last columns;  truncf;  store ..;  sum;  store;  put_commit

A wait ends a run of instructions that the units of an SM overlap: threads now convert, store and add elements while
MUFU computes the last columns. The multiply that reads the slot ends while MUFU computes the first columns, so that the
wait is not longer. If several blocks share an SM, the threads of another one use MUFU meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import PutBeginOp, PutCommitOp
from tilec.dialect.tile_gpu.operations.shape import POLYNOMIAL_PARTS, MathOp
from tilec.dialect.walk import operations_in, owner_of, used_by, users_of
from tilec.lowering.gpu.columns.column_parts import WARPS, has_parts, joined, part_of, part_type, repeats_columns
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import multiply_of, work_of
from tilec.lowering.gpu.ir.enclosing import is_repeated, operations_after
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import GET, users_of_slots
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import MUFU, Multiply, latency_cycles, pipe_use, unit_cycles

# Parts have whole periods of the pairs of columns that polynomials compute, so that these are the same elements.
_COLUMNS = 2 * POLYNOMIAL_PARTS


def wait_early(store: ir.Operation, device: Device) -> list[ir.Operation]:
    """Computes the last columns after the wait for the slot of a store of converted elements, which is not divided yet.

    Returns the arithmetic after the store that needs all columns, for the place before the store of the last ones.
    """
    put = owner_of(store.operands[1])
    computed = [] if put is None else _computed_before(put, owner_of(store.operands[0]))
    last = _last_parts(computed[0], put, device) if computed else 0
    if not last:
        return []
    role, buffer, columns = compute_role(store), store.operands[1].type, computed[0].results[0].type.shape[1]
    parts: dict[ir.Operation, list[ir.Value]] = {op: [] for op in computed}

    def compute(op: ir.Operation, number: int) -> None:
        type, *types = (part_type(buffer, value.type, _COLUMNS) for value in (op.results[0], *op.operands))
        operands = [
            parts[owner][number] if (owner := owner_of(value)) in parts else part_of(value, type, number, role)
            for value, type in zip(op.operands, types, strict=True)
        ]
        made = ir.Operation.create(op.name, [type], operands, {name: op.attributes[name] for name in op.attributes})
        set_compute_role(made, role)
        parts[op].append(made.results[0])

    count, (following, *_) = columns // _COLUMNS, operations_after(put)
    for numbers, point in ((range(count - last), put), (range(count - last, count), following)):
        with store.location, ir.InsertionPoint(point):
            for number, op in itertools.product(numbers, computed):
                compute(op, number)
            if point == following:
                tiles = {op: joined(parts[op], op.results[0].type, buffer, role) for op in computed}
    for op in reversed(computed):
        op.results[0].replace_all_uses_with(tiles[op])
        op.erase()
    return _arithmetic_after(store, set(tiles.values()))


def _computed_before(put: ir.Operation, conversion: ir.Operation) -> list[ir.Operation]:
    """A function of MUFU before the wait for a slot in a loop, and the arithmetic by which its elements are stored.

    Empty if there is none, or if something else needs it, or a step of the role is there, before the wait.
    """
    found, values, layout = list[ir.Operation](), set(conversion.operands), conversion.results[0].type.encoding
    if put.name != PutBeginOp.OPERATION_NAME or not is_repeated(put) or put.block != conversion.block:
        return []
    for op in reversed(list(itertools.takewhile(lambda op: op != put, operations_in(put.block)))):
        if not interface_of(op.name).is_pure:
            return []
        if values.isdisjoint(op.results) or repeats_columns(op.results[0]):
            continue
        users = [user for user in users_of(op.results[0]) if user not in (conversion, *found)]
        is_needed = any(user.block != put.block or user.is_before_in_block(put) for user in users)
        if is_needed or not has_parts(op, layout) or op.results[0].type.shape[1] % (2 * _COLUMNS):
            return []
        found.insert(0, op)
        values.update(op.operands)
        if op.name == MathOp.OPERATION_NAME:
            return found
    return []


def _last_parts(function: ir.Operation, put: ir.Operation, device: Device) -> int:
    """The parts after the wait, at most half of them; 0 if the multiply of the operand takes too long.

    0 also where the multiplies of the loop take longer than the function: less than 3 % is saved there, and the search
    for schedules then takes a fourth of the compile.
    """
    users = dict.fromkeys(users_of_slots(put.operands[0], (GET,)))
    multiplies = [multiply for op in users if (multiply := multiply_of(op.opview)) is not None]
    if not multiplies:
        return 0
    computed = unit_cycles(work_of(function.opview, WARPS, device, VisitedTiles()), device)[MUFU]
    if computed <= _multiplied((multiply_of(op.opview) for op in operations_in(put.block)), device):
        return 0
    multiplied = _multiplied(multiplies, device) + latency_cycles(multiplies[-1], device)
    parts = function.results[0].type.shape[1] // _COLUMNS
    return max(0, parts - int(max(parts // 2, -(-parts * multiplied // computed))))


def _multiplied(multiplies: Iterable[Multiply | None], device: Device) -> float:
    """The cycles of the tensor pipe for some multiplies."""
    return sum(pipe_use(each, device).cycles for each in multiplies if each is not None)


def _arithmetic_after(store: ir.Operation, values: set[ir.Value]) -> list[ir.Operation]:
    """The arithmetic on some values after a store, in the block before the next step of its role."""
    following = operations_after(store)
    after, found, role = set(following), list[ir.Operation](), compute_role(store)
    for op in following:
        used = used_by([op])
        if not interface_of(op.name).is_pure:
            if compute_role(op) == role and op.name != PutCommitOp.OPERATION_NAME:
                break
        elif not values.isdisjoint(used) and after.isdisjoint(map(owner_of, used - values)):
            found.append(op)
            values.update(op.results)
    return found
