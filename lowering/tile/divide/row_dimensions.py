"""Along which dimension each value of an entry is divided, if the rows of its matrix products are.

Rows flow from a product to all that is computed from it, and to all that its rows are computed from. The entry is not
divisible if a row of some result depends on other rows of an operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.part_access import divides_bytes, is_divisible_access
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    IF,
    MULTIPLIES,
    STRUCTURES,
    YIELD,
    carried_with,
    is_tile,
    left_by,
)
from tilec.lowering.tile.divide.slices import Dimensions, Divided, Slice, operand_dimensions

# The rows of a product that two units of 128 rows compute.
DIVIDED_ROWS = 256
LOAD, STORE = "cuda_tile.load_view_tko", "cuda_tile.store_view_tko"
_POINTER_STORE = "cuda_tile.store_ptr_tko"
_POINTER_ACCESSES = ("cuda_tile.load_ptr_tko", _POINTER_STORE)
# Their halves are made where they are used, so other uses do not matter.
_ANYWHERE = ("cuda_tile.constant", "cuda_tile.iota")
# Of lhs, rhs, the accumulator and the scale factors, for the rows of the result.
_MULTIPLY_DIMENSIONS = (0, None, 0, 0, None)
HALVES = 2


class _NotDivisibleError(Exception):
    """An operation mixes rows."""


def row_operand_dimensions(op: ir.OpView, dimension: int) -> Dimensions | None:
    """The dimensions of the operands (slices.py), for multiplies, reductions, scans and accesses by pointers too."""
    name, count = op.operation.name, len(op.operation.operands)
    if name in MULTIPLIES:
        divides = dimension == 0 and op.operation.results[0].type.rank == 2
        return _MULTIPLY_DIMENSIONS[:count] if divides else None
    if name == "cuda_tile.reduce":
        return (dimension if dimension < op.dim else dimension + 1,) * count
    if name == "cuda_tile.scan":
        return None if dimension == op.dim else (dimension,) * count
    if name in _POINTER_ACCESSES:
        is_weak = op.memory_ordering_semantics == "weak"
        return tuple(dimension if is_tile(value) else None for value in op.operation.operands) if is_weak else None
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
    """The divided values, each with its dimension."""

    dimensions: dict[ir.Value, int] = field(default_factory=dict)

    def carried(self, op: ir.OpView) -> dict[int, int]:
        """The dimensions of the carried values of a loop that are divided, by their numbers; a branch has none."""
        return {} if op.operation.name == IF else self._numbered(op.carried)

    def results(self, op: ir.OpView) -> dict[int, int]:
        """The dimensions of the results of a `loop` or `if` that are divided, by their numbers."""
        return self._numbered(op.operation.results)

    def _numbered(self, values: Iterable[ir.Value]) -> dict[int, int]:
        return {number: self.dimensions[value] for number, value in enumerate(values) if value in self.dimensions}

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
            work += [*_of_maker(each, along), *_of_users(each, along)]


def _of_maker(value: ir.Value, along: int) -> Iterator[Divided]:
    """The values that must be divided since the operation that makes a value is."""
    is_argument = isinstance(value.owner, ir.Block)
    op = value.owner.owner.operation.opview if is_argument else value.owner
    if op.operation.name in STRUCTURES:
        yield from ((each, along) for each in carried_with(op, value))
    elif op.operation.name == LOAD:
        _check_access(op, value, along)
    else:
        dimensions = None if is_argument else row_operand_dimensions(op, along)
        yield from _divided_operands(op, dimensions)
        yield from ((result, along) for result in op.operation.results if isinstance(result.type, TileType))


def _of_users(value: ir.Value, along: int) -> Iterator[Divided]:
    for use in value.uses:
        op, name = use.owner, use.owner.operation.name
        if name == STORE:
            _check_access(op, value, along)
        elif name == _POINTER_STORE:
            yield from _divided_operands(op, row_operand_dimensions(op, along))
        elif name in (CONTINUE, BREAK, YIELD, *STRUCTURES):
            structure = op if name in STRUCTURES else left_by(op)
            yield from ((each, along) for each in carried_with(structure, value))
        else:
            yield op.operation.results[0], _result_dimension(op, use.operand_number, along)


def _divided_operands(op: ir.OpView, dimensions: Dimensions | None) -> Iterator[Divided]:
    if dimensions is None:
        raise _NotDivisibleError
    yield from ((v, d) for v, d in zip(op.operation.operands, dimensions, strict=True) if d is not None)


def _is_made_anywhere(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name in _ANYWHERE


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
