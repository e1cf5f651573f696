"""Elementwise operations around a function with a test of its arguments, which are lowered in parts of the elements.

A branch of the warp, as in arithmetic/flushed_functions.py, needs all arguments before it and has all results after it,
because ptxas moves no instruction across it. The parts free the registers of one before those of the next are used:

before:   %d = subf %a, %b;  %e = exp2 %d;  %f = mulf %s, %e        128 registers of %d, then of %e, beside those of %s
after:    subf, exp2 and mulf of 32 registers of each, four times
"""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, interface_of
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, users_of
from tilec.lowering.gpu.ir.tile_size import layout_of
from tilec.lowering.instruction_choice import FLUSHED

# The elements of a part, and the fewest of a thread that are divided: beside 64 there are registers for other tiles.
_PART, _LEAST_ELEMENTS = 32, 128
# The operations that may be between those of a chain; others start, await or release work of other units.
_BETWEEN = (Category.ARITHMETIC, Category.MOVE, Category.SCALAR)


def guarded_chains(block: ir.Block) -> dict[ir.Operation, list[ir.Operation]]:
    """The chains of a block, in program order, by each of their operations."""
    operations = operations_in(block)
    found: dict[ir.Operation, list[ir.Operation]] = {}
    for position, op in enumerate(operations):
        if op.name in FLUSHED and op not in found and _is_member(op) and _is_divisible(op):
            last = _last(operations, position)
            # Without an operation after it, all results of the function are in registers anyway.
            chain = _ending_with(operations[: last + 1]) if last > position else []
            if op in chain and found.keys().isdisjoint(chain):
                found.update(dict.fromkeys(chain, chain))
    return found


def lower_in_parts(
    chain: list[ir.Operation],
    values: dict[ir.Value, list[ir.Value]],
    lower: Callable[[ir.Operation], None],
) -> None:
    """Lowers a chain; `values` has the registers of tiles."""
    results = {op.results[0]: list[ir.Value]() for op in chain}
    read = {value: values[value] for op in chain for value in op.operands if value not in results}
    count = layout_of(chain[-1].results[0].type).register_count
    for start in range(0, count, _PART):
        values.update({value: own[start : start + _PART] for value, own in read.items() if len(own) == count})
        for op in chain:
            lower(op)
            results[op.results[0]] += values[op.results[0]]
    values.update(read | results)


def _last(operations: list[ir.Operation], position: int) -> int:
    """The position of the last operation of the chain from the function on."""
    while True:
        users = users_of(operations[position].results[0])
        if len(users) != 1 or users[0].block != operations[position].block or not _is_member(users[0]):
            return position
        following = operations.index(users[0])
        if any(interface_of(op.name).category not in _BETWEEN for op in operations[position:following]):
            return position
        position = following


def _ending_with(operations: list[ir.Operation]) -> list[ir.Operation]:
    """The operations of which the last one alone needs the results, as far as nothing else is between them."""
    chain = {operations[-1]: None}
    for op in reversed(operations[:-1]):
        if interface_of(op.name).category not in _BETWEEN:
            break
        if _is_member(op) and users_of(op.results[0]) and all(user in chain for user in users_of(op.results[0])):
            chain[op] = None
    return list(reversed(chain))


def _is_member(op: ir.Operation) -> bool:
    """Whether the registers of the result, all f32, are computed from those of the operands one by one."""
    tiles = [value.type for value in (*op.results, *op.operands)]
    if not interface_of(op.name).is_elementwise or len(op.results) != 1 or len(tiles) == 1:
        return False
    if "polynomials" in op.attributes or not all(map(is_register_tile, tiles)):
        return False
    elements = [str(tile.element_type) for tile in tiles]
    return elements[0] == "f32" and {*elements} <= {"f32", "i1"} and len({tile.encoding for tile in tiles}) == 1


def _is_divisible(op: ir.Operation) -> bool:
    """Whether a thread has many elements of the result, of which none repeats another."""
    layout = layout_of(op.results[0].type)
    return layout.register_count >= _LEAST_ELEMENTS and not layout.free_register_mask
