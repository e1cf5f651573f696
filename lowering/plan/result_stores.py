"""The place of stores in loops of multiplies: as soon as their products are complete, or at the end of an iteration.

early:   %o = mmaf ..;  store (ftof %o);  %s = mmaf (ftof %k), %v, (mulf %c)        the tensor core waits for the store
late:    %o = mmaf ..;  %s = mmaf (ftof %k), %v, (mulf %c);  store (ftof %o)        columns of %o are in use for longer

Tokens order the accesses, so that the place is free. Where the source has the stores does not count: the cost model
weighs both places.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_in, operations_named, users_of
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import FOR, MULTIPLIES, is_elementwise, is_product, is_tile

_STORE, _JOIN = "cuda_tile.store_view_tko", "cuda_tile.join_tokens"
_MOVES = tuple(f"cuda_tile.{name}" for name in ("extract", "reshape", "broadcast", "permute", "cat"))


def has_places(module: ir.Module, target: Target) -> bool:
    """Whether stores of a module have two places between which multiplies are, in tensor memory."""
    return not accumulates_in_registers(target) and any(_results(module))


def place_results(module: ir.Module, *, late: bool) -> None:
    """Changes a module in place: stores of loops, with what only they need, have the late or the early place."""
    for operations, results in list(_results(module)):
        if late:
            for op in results:
                op.move_before(operations[-1])
        else:
            source = _source(operations, results)
            for op in reversed(results):
                op.move_after(source)


def _results(module: ir.Module) -> Iterator[tuple[list[ir.Operation], list[ir.Operation]]]:
    """The operations of loops, and those of them that only store products, if multiplies may precede these."""
    for loop in operations_named(module, (FOR,)):
        operations = operations_in(loop.operation.regions[0].blocks[0])
        results = _stored(operations)
        if not any(op.name == _STORE for op in results) or not _needs_products(operations, results):
            continue
        following = operations[operations.index(_source(operations, results)) + 1 :]
        if any(op.name in MULTIPLIES for op in following):
            yield operations, results


def _stored(operations: list[ir.Operation]) -> list[ir.Operation]:
    """The stores of a body, and the operations whose results only they need, in program order."""
    *body, end = operations
    found = set[ir.Operation]()
    for op in reversed(body):
        is_pure = op.name in (*_MOVES, _JOIN) or is_elementwise(op.opview)
        users = [user for result in op.results for user in users_of(result)]
        if op.name == _STORE and all(user in found or user == end for user in users):
            found.add(op)
        elif is_pure and users and all(user in found or op.name == _JOIN and user == end for user in users):
            found.add(op)
    return [op for op in body if op in found]


def _needs_products(operations: list[ir.Operation], results: list[ir.Operation]) -> bool:
    """Whether all tiles of a body that are stored are products: others would be in registers until the store."""
    inside, found = set(operations), set(results)
    values = {value for op in results for value in op.operands if is_tile(value) and value.owner not in found}
    return all(is_product(value) or value.owner not in inside for value in values if value.type.rank)


def _source(operations: list[ir.Operation], results: list[ir.Operation]) -> ir.Operation:
    """The last operation of a body whose result others need to store; the first one if they need none."""
    owners = {value.owner for op in results for value in op.operands}
    needed = [op for op in operations if op in owners and op not in results]
    return needed[-1] if needed else operations[0]
