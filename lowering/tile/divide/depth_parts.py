"""Multiplies whose operands are divided along their depth: each CTA multiplies its own part first, then all others.

    %s = mmaf %a, %b, %c : 128x512, 512x64 -> 128x64, where CTA n of two needs part n of %b for another multiply
    ->  %t = mmaf %a[n], %b[n], %c : 128x256, 256x64;  %s = mmaf %a[n xor 1], %b[n xor 1], %t

A part has the operations of the whole operand, down to its loads. The sum of all parts is the product of the whole
depth, with the products in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named, reached
from tilec.lowering.tile.analysis.constants import integer_splat
from tilec.lowering.tile.analysis.replacing import copy_operation
from tilec.lowering.tile.analysis.tile_operations import PLAIN_MULTIPLIES, is_product
from tilec.lowering.tile.divide.divided_dimensions import Divided, NotDivisibleError

_OPERANDS, _ACCUMULATOR = (0, 1), 2


def check_depth(entry: ir.OpView, divided: Divided) -> None:
    """Raises NotDivisibleError if an operand that is divided along its depth is not computed from loads alone."""
    for multiply in _multiplies(entry, divided):
        for number in _OPERANDS:
            for value in reached(multiply.operation.operands[number], lambda value: _behind(value, divided)):
                if isinstance(value.owner, ir.Block) or value.owner.operation.regions or is_product(value):
                    raise NotDivisibleError("a part of the depth of a multiply is not computed from loads", multiply)
                tokens = (each for each in value.owner.operation.results if isinstance(each.type, TokenType))
                if any(list(token.uses) for token in tokens):
                    raise NotDivisibleError("a token orders an access after one of several blocks", value.owner.opview)


def add_depth_parts(entry: ir.OpView, ctas: int, cta: ir.Value, divided: Divided) -> dict[ir.Value, ir.Value]:
    """Adds multiplies of the other parts before any tile is divided; `divided` gets their tiles.

    Returns, for each result of a new operation on divided tiles, the number of the CTA whose part it computes.
    """
    multiplies = list(_multiplies(entry, divided))
    parts = dict[ir.Value, ir.Value]()
    for distance in range(1, ctas if multiplies else 1):
        with ir.InsertionPoint.at_block_begin(entry.body.blocks[0]), entry.location:
            number = build("xori", [cta, integer_splat(cta.type, distance)], [cta.type]).result
        copies = dict[ir.Value, ir.Value]()
        for position, multiply in enumerate(multiplies):
            for each in _OPERANDS:
                _copy(multiply.operation.operands[each], copies, divided)
            following = _copied(multiply.operation, dict(copies))
            multiply.operation.results[0].replace_all_uses_with(following.results[0])
            following.operands[_ACCUMULATOR] = multiply.operation.results[0]
            multiplies[position] = following.opview
        parts |= dict.fromkeys(copies.values(), number)
    return parts


def _multiplies(entry: ir.OpView, divided: Divided) -> Iterator[ir.OpView]:
    """The multiplies whose operands are divided along their depth, and whose results are whole."""
    for op in operations_named(entry, PLAIN_MULTIPLIES):
        if op.operation.results[0] not in divided and op.lhs in divided:
            yield op


def _behind(value: ir.Value, divided: Divided) -> list[ir.Value]:
    owner = value.owner
    return [] if isinstance(owner, ir.Block) else [each for each in owner.operation.operands if each in divided]


def _copy(value: ir.Value, copies: dict[ir.Value, ir.Value], divided: Divided) -> None:
    """Copies a divided value and the divided values behind it, each directly after the original."""
    if value not in divided or value in copies:
        return
    for each in value.owner.operation.operands:
        _copy(each, copies, divided)
    _copied(value.owner.operation, copies)
    divided.update((copies[each], divided[each]) for each in value.owner.operation.results if each in divided)


def _copied(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    with ir.InsertionPoint.after(op), op.location:
        return copy_operation(op, values)
