"""Warps leave accumulators in tensor memory as they are where all factors of their rows are 1.

before:   %o0 = load %slot from 0;  %n0 = mulf %o0, %a;  store %n0, %slot from 0;  ..
after:    %d = differs_from_one %a;  scf.if %d { %o0 = load %slot from 0;  %n0 = mulf %o0, %a;  store %n0, ..  .. }

A factor of attention is 1 for each block of keys that has no larger score than those before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.shape import ExtractOp
from tilec.dialect.tile_gpu.operations.vote import DiffersFromOneOp
from tilec.dialect.walk import operations_in, operations_inside, owner_of
from tilec.lowering import emitter
from tilec.lowering.gpu.columns.column_parts import repeats_columns
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.kernel_pass import Context

_LOAD, _STORE, _MULTIPLY = LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME, "arith.mulf"


@dataclass(frozen=True)
class _Update:
    """Columns of an accumulator that are loaded, multiplied and stored in their place."""

    load: ir.Operation
    multiply: ir.Operation
    store: ir.Operation
    factor: ir.Value


def skip_updates(kernel: KernelOp, _context: Context) -> bool:
    """Rewrites a tile_gpu.kernel in place; returns whether it does. Products with 1 are exact."""
    stores = [op for op in operations_inside(kernel) if op.name == _STORE]
    updates = [update for op in stores if is_repeated(op) and (update := _update(op)) is not None]
    found = [run for _, group in itertools.groupby(updates, _place) for run in _runs(list(group))]
    for run in found:
        _skip(run)
    return bool(found)


def _place(update: _Update) -> tuple[ir.Block, ir.Value]:
    """The block, and the tile whose columns are factors: columns that are equal have parts that are."""
    extract = owner_of(update.factor)
    if extract is not None and extract.name == ExtractOp.OPERATION_NAME and repeats_columns(extract.operands[0]):
        return update.store.block, extract.operands[0]
    return update.store.block, update.factor


def _update(store: ir.Operation) -> _Update | None:
    multiply = owner_of(store.operands[0])
    if multiply is None or multiply.name != _MULTIPLY or not _has_one_use(multiply) or multiply.block != store.block:
        return None
    for number, loaded in enumerate(multiply.operands):
        load = owner_of(loaded)
        if load is not None and load.name == _LOAD and _has_one_use(load) and load.block == store.block:
            same = load.operands[0] == store.operands[1] and load.opview.first_column == store.opview.first_column
            whole = loaded.type == store.operands[0].type
            return _Update(load, multiply, store, multiply.operands[1 - number]) if same and whole else None
    return None


def _has_one_use(op: ir.Operation) -> bool:
    return len(list(op.results[0].uses)) == 1


def _runs(updates: Sequence[_Update]) -> Iterator[list[_Update]]:
    """Updates between which nothing has effects or needs their results, up to one whose store is complete."""
    block = operations_in(updates[0].store.block)
    run = list[_Update]()
    for update in updates:
        run.append(update)
        if not update.store.opview.pending:
            if _is_apart(run, block):
                yield run
            run = []


def _is_apart(run: Sequence[_Update], block: Sequence[ir.Operation]) -> bool:
    """Whether all else between the updates may precede them, and no earlier store is complete with theirs only."""
    own = _operations(run)
    first, last = block.index(run[0].load), block.index(run[-1].store)
    results = {result for op in own for result in op.results}
    between = [op for op in block[first:last] if op not in own]
    if not all(interface_of(op.name).is_pure and results.isdisjoint(op.operands) for op in between):
        return False
    before = [op for op in block[:first] if op.name == _STORE]
    return not before or not before[-1].opview.pending


def _operations(run: Sequence[_Update]) -> list[ir.Operation]:
    return [op for update in run for op in (update.load, update.multiply, update.store)]


def _skip(run: Sequence[_Update]) -> None:
    """Moves updates into a branch, and the operations between them to before it."""
    first, last, own = run[0].load, run[-1].store, _operations(run)
    block = operations_in(first.block)
    inside = block[block.index(first) : block.index(last) + 1]
    for op in inside:
        if op not in own:
            op.move_before(first)
    with first.location, ir.InsertionPoint(first):
        differs = emitter.gpu(DiffersFromOneOp, [run[0].factor], [emitter.integer_type(1)]).results[0]
        with emitter.only_if(differs) as branch:
            pass
    end = branch.regions[0].blocks[0].operations[0]
    for op in inside:
        if op in own:
            op.move_before(end)
