"""Along which dimension each value of an entry is divided, if the rows of its matrix products are.

Rows flow from a product to all that is computed from it, and to all that its rows are computed from. The entry is not
divisible if a row of some result depends on other rows of an operand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.part_access import divides_bytes, is_divisible_access
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    LOOP,
    LOOPS,
    MULTIPLIES,
    STRUCTURES,
    YIELD,
    given,
    left_by,
)
from tilec.lowering.tile.divide.slices import Dimensions, Divided, Slice, operand_dimensions

# The rows of a product that two units of 128 rows compute.
DIVIDED_ROWS = 256
LOAD, STORE = "cuda_tile.load_view_tko", "cuda_tile.store_view_tko"
# Their halves are made where they are used, so other uses do not matter.
_ANYWHERE = ("cuda_tile.constant", "cuda_tile.iota")
# Of lhs, rhs, the accumulator and the scale factors, for the rows of the result.
_MULTIPLY_DIMENSIONS = (0, None, 0, 0, None)
# The number of operands of a loop before the initial values.
_BOUNDS = {FOR: 3, LOOP: 0}
HALVES = 2


class _NotDivisibleError(Exception):
    """An operation mixes rows."""


def row_operand_dimensions(op: ir.OpView, dimension: int) -> Dimensions | None:
    """The dimensions of the operands (slices.py), for multiplies, reductions and scans too."""
    name, count = op.operation.name, len(op.operation.operands)
    if name in MULTIPLIES:
        divides = dimension == 0 and op.operation.results[0].type.rank == 2
        return _MULTIPLY_DIMENSIONS[:count] if divides else None
    if name == "cuda_tile.reduce":
        return (dimension if dimension < op.dim else dimension + 1,) * count
    if name == "cuda_tile.scan":
        return None if dimension == op.dim else (dimension,) * count
    return operand_dimensions(op, dimension)


def rows_of(entry: ir.OpView) -> Rows | None:
    """The divided values of an entry; None if it has no product of DIVIDED_ROWS rows, or mixes rows."""
    rows = Rows()
    try:
        for op in operations_below(entry):
            if op.operation.name in MULTIPLIES and op.acc.type.shape[0] == DIVIDED_ROWS and op.acc.type.rank == 2:
                rows.divide(op.operation.results[0], 0)
    except _NotDivisibleError:
        return None
    return rows if rows.dimensions else None


@dataclass
class Rows:
    """The divided values, and which carried values and results of structures they are."""

    dimensions: dict[ir.Value, int] = field(default_factory=dict)
    # By the body of a loop: the numbers of carried values; the results of a `for` are among them.
    _carried: dict[ir.Block, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    # By the first block of a `loop` or `if`: the numbers of results.
    _results: dict[ir.Block, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def carried(self, loop: ir.OpView) -> dict[int, int]:
        """The dimensions of the carried values that are divided, by their numbers."""
        return self._carried.get(_first_block(loop), {})

    def results(self, op: ir.OpView) -> dict[int, int]:
        """The dimensions of the results of a `loop` or `if` that are divided, by their numbers."""
        return self._results.get(_first_block(op), {})

    def divide(self, value: ir.Value, dimension: int) -> None:
        """Divides a value, and all others that its rows are computed from or that are computed from its rows."""
        work = [(value, dimension)]
        while work:
            each, along = work.pop()
            if self.dimensions.get(each) == along or _is_made_anywhere(each):
                continue
            if each in self.dimensions or not isinstance(each.type, TileType):
                raise _NotDivisibleError
            self.dimensions[each] = along
            work += [*self._of_maker(each, along), *self._of_users(each, along)]

    def _of_maker(self, value: ir.Value, along: int) -> Iterator[Divided]:
        """The values that must be divided since the operation that makes a value is."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            loop = owner.owner
            yield from self._divide_carried(loop, ir.BlockArgument(value).arg_number - _first_carried(loop), along)
            return
        name, index = owner.operation.name, list(owner.operation.results).index(value)
        if name == FOR:
            yield from self._divide_carried(owner, index, along)
        elif name in STRUCTURES:
            yield from self._divide_result(owner, index, along)
        elif name == LOAD:
            _check_access(owner, value, along)
        else:
            dimensions = row_operand_dimensions(owner, along)
            if dimensions is None:
                raise _NotDivisibleError
            yield from ((result, along) for result in owner.operation.results)
            yield from ((v, d) for v, d in zip(owner.operation.operands, dimensions, strict=True) if d is not None)

    def _of_users(self, value: ir.Value, along: int) -> Iterator[Divided]:
        for use in value.uses:
            op, number = use.owner, use.operand_number
            name = op.operation.name
            if name == STORE:
                _check_access(op, value, along)
            elif name == CONTINUE:
                yield from self._divide_carried(left_by(op), number, along)
            elif name in (BREAK, YIELD):
                yield from self._divide_result(left_by(op), number, along)
            elif name in LOOPS:
                yield from self._divide_carried(op, number - _BOUNDS[name], along)
            else:
                yield op.operation.results[0], _result_dimension(op, number, along)

    def _divide_carried(self, loop: ir.OpView, index: int, along: int) -> Iterator[Divided]:
        if loop.operation.name not in LOOPS:
            raise _NotDivisibleError
        self._carried[_first_block(loop)][index] = along
        yield loop.initValues[index], along
        yield loop.operation.regions[0].blocks[0].arguments[index + _first_carried(loop)], along
        yield from ((value, along) for value in given(loop, CONTINUE, index))
        if loop.operation.name == FOR:
            yield loop.operation.results[index], along

    def _divide_result(self, op: ir.OpView, index: int, along: int) -> Iterator[Divided]:
        self._results[_first_block(op)][index] = along
        yield op.operation.results[index], along
        yield from ((value, along) for value in given(op, BREAK if op.operation.name == LOOP else YIELD, index))


def _is_made_anywhere(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name in _ANYWHERE


def _first_block(op: ir.OpView) -> ir.Block:
    """The key of a loop or a branch: the hash of an operation changes with its operands, which the passes replace."""
    return op.operation.regions[0].blocks[0]


def _first_carried(loop: ir.OpView) -> int:
    return int(loop.operation.name == FOR)


def _result_dimension(op: ir.OpView, number: int, along: int) -> int:
    """The dimension of the result that an operand's dimension becomes."""
    type = op.operation.results[0].type if len(op.operation.results) else None
    for dimension in range(type.rank if isinstance(type, TileType) else 0):
        dimensions = row_operand_dimensions(op, dimension)
        if dimensions is not None and dimensions[number] == along:
            return dimension
    raise _NotDivisibleError


def _check_access(op: ir.OpView, tile: ir.Value, along: int) -> None:
    half = Slice(along, 0, tile.type.shape[along] // HALVES).part(tile).shape
    if not is_divisible_access(op) or divides_bytes(op.view.type, half):
        raise _NotDivisibleError
