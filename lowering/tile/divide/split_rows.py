"""Matrix products of 256 rows, and all values computed from their rows, -> two chains of 128 rows each.

    for .. iter_values(%s = %zero) { %m = mmaf %a, %b, %s : .. -> 256xN;  continue %m }
    ->  for .. iter_values(%s0 = .., %s1 = ..) { %m0 = mmaf %a0, %b, %s0;  %m1 = mmaf %a1, %b, %s1;  continue %m0, %m1 }

Each chain has its own loads, carried values and stores of half tiles; values that both need whole are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named, reached
from tilec.lowering.tile.analysis.carried import move_regions
from tilec.lowering.tile.analysis.part_access import join_tokens, load_part, store_part, view_of_parts
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    IF,
    LOOPS,
    MULTIPLIES,
    STRUCTURES,
    YIELD,
    is_product,
    left_by,
)
from tilec.lowering.tile.divide.multiply_parts import part_of
from tilec.lowering.tile.divide.row_dimensions import (
    DIVIDED_ROWS,
    HALVES,
    LOAD,
    STORE,
    Rows,
    row_operand_dimensions,
    rows_of,
)
from tilec.lowering.tile.divide.slices import Slice, Slicer, sliced_operands


def split_rows(module: ir.Module) -> None:
    """Changes a module in place; an entry in which an operation mixes rows stays as it is."""
    for entry in operations_named(module, ("cuda_tile.entry",)):
        _split(entry)


def split_chains(module: ir.Module) -> None:
    """Does so for entries in which a product of the rows needs another one in a loop, as in attention.

    Threads then compute one chain while the tensor cores multiply for the other (lowering/gpu/roles/assign_roles.py).
    """
    for entry in operations_named(module, ("cuda_tile.entry",)):
        if any(map(_needs_product, operations_named(entry, MULTIPLIES))):
            _split(entry)


def _split(entry: ir.OpView) -> None:
    rows = rows_of(entry)
    if rows is not None:
        _Division(rows).divide(entry.operation.regions[0].blocks[0])


def _needs_product(op: ir.OpView) -> bool:
    """Whether a product of divided rows has an operand that its block computes from another one, in a loop."""
    block = op.operation.block
    if op.acc.type.shape[0] != DIVIDED_ROWS or block.owner.operation.name not in LOOPS:
        return False

    def operands(value: ir.Value) -> list[ir.Value]:
        return list(value.owner.operation.operands) if is_in_block(value) else []

    def is_in_block(value: ir.Value) -> bool:
        return not isinstance(value.owner, ir.Block) and value.owner.operation.block == block

    return any(is_in_block(value) and is_product(value) for value in reached(op.lhs, operands))


class _Division:
    """Replaces each divided value by its halves. In a block, the second halves follow the first as late as possible."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._halves: dict[ir.Value, list[ir.Value]] = {}
        self._tokens: dict[ir.Value, list[ir.Value]] = {}
        self._pending: list[Callable[[], None]] = []
        # Erased at the end, from the last to the first: they use each other.
        self._replaced: list[ir.Operation] = []
        self._arguments: list[ir.Value] = []

    def divide(self, block: ir.Block) -> None:
        """Divides the operations of an entry's block."""
        self._block(block)
        for operation in reversed(self._replaced):
            operation.erase()
        for argument in reversed(self._arguments):
            ir.BlockArgument(argument).owner.erase_argument(ir.BlockArgument(argument).arg_number)

    def _block(self, block: ir.Block) -> None:
        operations = list(block.operations)
        for op in operations:
            self._join_tokens(op)
            if op.operation.name in STRUCTURES or op.operation == operations[-1].operation:
                self._finish_halves(op)
            if op.operation.name in STRUCTURES:
                self._structure(op)
            elif op.operation.name in (CONTINUE, BREAK, YIELD):
                self._end(op)
            elif any(value in self._rows.dimensions for value in (*op.operation.operands, *op.operation.results)):
                self._divide(op)

    # ---- operations without regions of control flow

    def _divide(self, op: ir.OpView) -> None:
        if op.operation.name in MULTIPLIES:
            for name, attribute in part_of(op, HALVES).items():
                op.operation.attributes[name] = attribute
        for result in op.operation.results:
            (self._halves if isinstance(result.type, TileType) else self._tokens)[result] = []
        with ir.InsertionPoint(op.operation):
            self._half(op, 0)
        self._pending.append(lambda: self._half(op, 1))
        self._replaced.append(op.operation)

    def _half(self, op: ir.OpView, number: int) -> None:
        with op.location:
            for old, new in zip(op.operation.results, self._made(op, number), strict=True):
                (self._halves if old in self._halves else self._tokens)[old].append(new)

    def _made(self, op: ir.OpView, number: int) -> Sequence[ir.Value]:
        """The results of the operation on the halves of a number."""
        if op.operation.name == LOAD:
            part = self._slice(op.operation.results[0], number).part(op.operation.results[0])
            return list(load_part(op, view_of_parts(op.view, part.shape), part).results)
        if op.operation.name == STORE:
            part = self._slice(op.tile, number).part(op.tile)
            return [store_part(op, view_of_parts(op.view, part.shape), part, self._halves[op.tile][number])]
        values = (*op.operation.results, *op.operation.operands)
        along = next(self._rows.dimensions[value] for value in values if value in self._rows.dimensions)
        operands = [
            value if d is None else self._half_of(value, d, number)
            for value, d in zip(op.operation.operands, row_operand_dimensions(op, along) or (), strict=True)
        ]
        made = op.operation.clone()
        for index, operand in enumerate(operands):
            made.operands[index] = operand
        for result in made.results:
            if isinstance(result.type, TileType):
                result.set_type(_half_type(result, along))
        return list(made.results)

    def _half_of(self, value: ir.Value, along: int, number: int) -> ir.Value:
        """A half of a divided value, or of a constant or an iota, of which it is made at the insertion point."""
        if value in self._halves:
            return self._halves[value][number]
        wanted = Slice(along, number, value.type.shape[along] // HALVES)
        computed = set() if sliced_operands(value, wanted) is None else {(value, along)}
        return Slicer(computed).slice_of(value, wanted)

    def _slice(self, value: ir.Value, number: int) -> Slice:
        along = self._rows.dimensions[value]
        return Slice(along, number, value.type.shape[along] // HALVES)

    def _finish_halves(self, before: ir.OpView) -> None:
        """Makes the second halves that are still missing."""
        with ir.InsertionPoint(before.operation):
            for make in self._pending:
                make()
        self._pending.clear()

    def _join_tokens(self, op: ir.OpView) -> None:
        """The token of a divided access represents both halves; the first operation that waits for it joins theirs.

        It is joined before a structure in which an operation waits for it, as others there may wait too.
        """
        inside = (op, *operations_below(op)) if op.operation.name in STRUCTURES else (op,)
        awaited = [value for each in inside for value in each.operation.operands if value in self._tokens]
        if not awaited:
            return
        self._finish_halves(op)
        with ir.InsertionPoint(op.operation), op.location:
            for token in dict.fromkeys(awaited):
                token.replace_all_uses_with(join_tokens(self._tokens.pop(token)))

    # ---- loops and branches

    def _structure(self, op: ir.OpView) -> None:
        """Rebuilds a loop or a branch: the halves of divided values follow the other values."""
        carried = self._rows.carried(op)
        results = carried if op.operation.name == FOR else self._rows.results(op)
        for block in (block for region in op.operation.regions for block in region.blocks):
            self._add_arguments(block, carried, int(op.operation.name == FOR))
            self._block(block)
        if not carried and not results:
            return
        with ir.InsertionPoint(op.operation), op.location:
            operands = [op.condition] if op.operation.name == IF else self._expanded(list(op.initValues), carried)
            if op.operation.name == FOR:
                operands = [op.lowerBound, op.upperBound, op.step, operands]
            old = list(op.operation.results)
            halves = [_half_type(old[index], along) for index, along in sorted(results.items()) for _ in range(HALVES)]
            types = [*(value.type for index, value in enumerate(old) if index not in results), *halves]
            made = build(op.operation.name, operands, types, attributes_without_segments(op))
        move_regions(op.operation, made)
        self._set_values(list(op.operation.results), results, list(made.results))
        self._replaced.append(op.operation)

    def _add_arguments(self, block: ir.Block, carried: Mapping[int, int], first: int) -> None:
        for index in sorted(carried):
            argument = block.arguments[first + index]
            type = _half_type(argument, carried[index])
            self._halves[argument] = [block.add_argument(type, argument.location) for _ in range(HALVES)]
            self._arguments.append(argument)

    def _end(self, op: ir.OpView) -> None:
        """Rebuilds a terminator with the halves of the divided values, after the other values."""
        target = left_by(op)
        divided = self._rows.carried(target) if op.operation.name == CONTINUE else self._rows.results(target)
        if divided:
            with ir.InsertionPoint(op.operation), op.location:
                operands = self._expanded(list(op.operation.operands), divided)
                build(op.operation.name, operands, attributes=attributes_without_segments(op))
            op.operation.erase()

    def _expanded(self, values: list[ir.Value], divided: Mapping[int, int]) -> list[ir.Value]:
        """The values that are not divided, then the halves of the others."""
        kept = [value for index, value in enumerate(values) if index not in divided]
        for index, along in sorted(divided.items()):
            kept += [self._half_of(values[index], along, number) for number in range(HALVES)]
        return kept

    def _set_values(self, old: list[ir.Value], divided: Mapping[int, int], new: list[ir.Value]) -> None:
        """Replaces the results that are not divided; the halves of the others follow them."""
        for index, value in enumerate(old):
            if index not in divided:
                value.replace_all_uses_with(new.pop(0))
        for index in sorted(divided):
            self._halves[old[index]], new = new[:HALVES], new[HALVES:]


def _half_type(value: ir.Value, along: int) -> TileType:
    return TileType.get(Slice(along, 0, value.type.shape[along] // HALVES).part(value).shape, value.type.element)
