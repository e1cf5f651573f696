"""Multiplies whose operands change sides, and the tiles that are computed with them: rows become columns.

    %s = mmaf %q, %k, %z : 8x128, 128x128 -> 8x128;  %m = reduce %s dim = 1 : 8
    ->  %s = mmaf permute %k, permute %q, %z : 128x128, 128x8 -> 128x8;  %m = reduce %s dim = 0 : 8

Rows that a unit needs beyond those of the program repeat these; nothing reads their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilec.dialect.build import build, regroup
from tilec.dialect.cuda_tile.reduction_rules import effect_free
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.constants import splat_attribute, splat_constant
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    LOOP,
    SCALED_MULTIPLIES,
    STRUCTURES,
    YIELD,
    carried_with,
    is_elementwise,
    left_by,
)
from tilec.lowering.tile.analysis.tile_parts import Part

_BROADCAST, _REDUCE, _RESHAPE = (f"cuda_tile.{w}" for w in ("broadcast", "reduce", "reshape"))
ENDS = (CONTINUE, BREAK, YIELD)
# The attribute of a multiply whose operands have changed sides.
_TURNED = "tilec.turned"
# The dimension of the columns, along which a reduction of turned tiles is one along the rows.
_COLUMNS = 1


def is_turned(op: ir.OpView) -> bool:
    """Whether the operands of a multiply have changed sides: its rhs is the left operand of the program."""
    return _TURNED in op.operation.attributes


class Turning:
    """The tiles that multiplies of equally many rows turn, and the rewrite; rows become `width` columns at least."""

    def __init__(self, multiplies: Sequence[ir.OpView], width: int) -> None:
        # The hash of an operation changes with its operands.
        self._products = {op.operation.results[0] for op in multiplies}
        self._rows = multiplies[0].acc.type.shape[0]
        self._width = max(width, self._rows)
        self._turned: dict[ir.Value, TileType] = {}
        pending = list(self._products)
        while pending:
            value = pending.pop()
            if value not in self._turned and self._is_turned(value):
                self._turned[value] = value.type
                pending += self._related(value)

    def includes(self, value: ir.Value) -> bool:
        """Whether a tile is turned."""
        return value in self._turned

    # ---- the tiles to turn

    def _is_turned(self, value: ir.Value) -> bool:
        """Whether a tile is one of rows, or has an element per row, and its operation computes it turned as well."""
        type = value.type
        if not isinstance(type, TileType) or type.rank not in (1, 2) or type.shape[0] not in (1, self._rows):
            return False
        owner = value.owner
        if isinstance(owner, ir.Block):
            return type.rank == 2 and owner.owner.operation.name in STRUCTURES
        op, name = owner.operation.opview, owner.operation.name
        if type.rank == 1:
            is_reduced = name == _REDUCE and op.dim == _COLUMNS and op.operands[0].type.rank == 2
            return type.shape[0] == self._rows and (is_reduced or self._is_computed(op))
        if name in STRUCTURES or value in self._products or name == _BROADCAST:
            return True
        if name == _RESHAPE:
            return self._is_turned_reshape(op)
        return self._is_computed(op)

    def _is_exchanged(self, op: ir.OpView) -> bool:
        results = op.operation.results
        return len(results) == 1 and results[0] in self._products

    def _is_computed(self, op: ir.OpView) -> bool:
        return is_elementwise(op) and effect_free(op)

    def _is_turned_reshape(self, op: ir.OpView) -> bool:
        """Whether a reshape makes a column of one element per row, or a row that all rows repeat."""
        rows, columns = op.result.type.shape
        if columns == 1 and rows == self._rows:
            return op.source.type.rank == 1
        return rows == 1 and self._rows > 1

    def _related(self, value: ir.Value) -> Iterator[ir.Value]:
        """The tiles that are turned if a tile is, as far as their operations allow."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            yield from carried_with(owner.owner.opview, value)
        else:
            yield from self._around(owner.operation.opview, value)
        for use in value.uses:
            user = use.owner.operation.opview
            if user.operation.name in ENDS:
                yield from carried_with(left_by(user), value)
            elif user.operation.name in STRUCTURES:
                yield from carried_with(user, value)
            else:
                yield from self._around(user, value)

    def _around(self, op: ir.OpView, value: ir.Value) -> Iterator[ir.Value]:
        if op.operation.name in STRUCTURES:
            yield from carried_with(op, value)
        elif self._is_exchanged(op):
            yield from (op.acc, op.operation.results[0])
        elif op.operation.name in (_BROADCAST, _REDUCE, _RESHAPE) or self._is_computed(op):
            yield from (*op.operation.operands, *op.operation.results)

    # ---- the rewrite

    def turn(self) -> None:
        """Changes the entry in place: types of the tiles, and operands where turned tiles meet others."""
        entry = next(iter(self._products)).owner.operation
        while entry.name != "cuda_tile.entry":
            entry = entry.parent.operation
        operations = list(operations_below(entry.opview))
        with entry.location:
            self._set_types()
        for op in operations:
            with ir.InsertionPoint(op.operation), op.location:
                for number, is_turned in enumerate(self._wanted(op)):
                    value = op.operation.operands[number]
                    if is_turned != (value in self._turned):
                        op.operation.operands[number] = self._made(value) if is_turned else self._turned_back(value)
                if self._is_exchanged(op):
                    _exchange(op)
                if op.operation.name in (*STRUCTURES, *ENDS):
                    regroup(op)

    def _set_types(self) -> None:
        for value, type in self._turned.items():
            value.set_type(self._turned_type(type))
            if not isinstance(value.owner, ir.Block) and value.owner.operation.name == _REDUCE:
                value.owner.operation.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)

    def _turned_type(self, type: TileType) -> TileType:
        rows, *columns = type.shape
        return TileType.get([*columns, self._width if rows == self._rows else 1], type.element)

    def _wanted(self, op: ir.OpView) -> list[bool]:
        """For each operand whether the operation needs a turned tile."""
        operation, name = op.operation, op.operation.name
        wanted = [False] * len(operation.operands)
        for number, place in _places(op):
            wanted[number] = place in self._turned
        if self._is_exchanged(op):
            # lhs, rhs and the accumulator, and the scale factors of lhs and rhs if it has them.
            return [True, False, True, True, False][: len(wanted)]
        if name in STRUCTURES or not any(result in self._turned for result in operation.results):
            return wanted
        if name == _RESHAPE:
            # A row that all rows repeat has the elements of its source.
            return [op.result.type.shape[1] != 1 or self._rows == 1]
        return [isinstance(value.type, TileType) and value.type.rank > 0 for value in operation.operands]

    def _made(self, value: ir.Value) -> ir.Value:
        """A turned tile made of one that is not; a constant is not turned in place, as others may read it."""
        element = splat_attribute(value)
        if element is not None:
            return splat_constant(self._turned_type(value.type), element)
        if value.type.shape[0] == self._rows:
            while value.type.shape[0] < self._width:
                shape = [2 * value.type.shape[0], *list(value.type.shape)[1:]]
                value = build("cat", [value, value], [TileType.get(shape, value.type.element)], {"dim": 0}).result
        return _permuted(value)

    def _turned_back(self, value: ir.Value) -> ir.Value:
        """The tile of the program."""
        tile = _permuted(value)
        shape = tuple(self._turned[value].shape)
        return Part(tile, (0,) * len(shape), shape).extracted()


def _permuted(value: ir.Value) -> ir.Value:
    if value.type.rank == 1:
        return value
    type = TileType.get(list(value.type.shape)[::-1], value.type.element)
    return build("permute", [value], [type], {"permutation": [1, 0]}).result


def _exchange(op: ir.OpView) -> None:
    """Makes lhs, which is turned already, the rhs of a multiply, and rhs its lhs."""
    operation = op.operation
    operation.operands[0], operation.operands[1] = _permuted(op.rhs), op.lhs
    if operation.name in SCALED_MULTIPLIES:
        operation.operands[3], operation.operands[4] = _permuted(op.rhs_scale), op.lhs_scale
    operation.attributes[_TURNED] = ir.UnitAttr.get()
    signs = [name for name in ("signedness_lhs", "signedness_rhs") if name in operation.attributes]
    for name, attribute in zip(signs, [operation.attributes[name] for name in signs[::-1]], strict=True):
        operation.attributes[name] = attribute


def _places(op: ir.OpView) -> Iterator[tuple[int, ir.Value]]:
    """The numbers of the operands that a structure or a terminator carries, with the values that they become."""
    name = op.operation.name
    if name == YIELD and op.operation.parent.operation.name not in STRUCTURES:
        # The end of a reduction, of scalars.
        return
    if name in (BREAK, YIELD):
        yield from enumerate(left_by(op).operation.results)
    elif name in (CONTINUE, FOR, LOOP):
        loop = left_by(op) if name == CONTINUE else op
        first = int(loop.operation.name == FOR)
        arguments = list(loop.operation.regions[0].blocks[0].arguments)[first:]
        bounds = 3 if name == FOR else 0
        yield from ((bounds + number, argument) for number, argument in enumerate(arguments))
