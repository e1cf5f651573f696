"""mma_sparse -> mmaf or mmai of a dense lhs.

mma_sparse %a, %metadata, %b, %c
->  %code = .. %metadata ..                      the nibble of each group of a row
    %dense = select(%code & 3 == %p, %a0, select(%code >> 2 == %p, %a1, 0))    for each position %p of a group
    mmaf %dense, %b, %c
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.sparse_rules import (
    GROUPS,
    INTERLEAVING,
    NIBBLES_PER_WORD,
    SINGLE_NIBBLES,
    interleaved_blocks,
    is_interleaved,
)
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.condition import integer
from tilec.lowering.tile.analysis.constants import float_splat, integer_splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, broadcast
from tilec.lowering.tile.analysis.replacing import replace
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE
from tilec.lowering.tile.analysis.tile_parts import Part, reshaped
from tilec.lowering.tile.divide.multiply_parts import part_of

_NIBBLE_BITS = 4


def expand_sparse(module: ir.Module | ir.OpView, is_wanted: Callable[[ir.OpView], bool] = lambda op: True) -> None:
    """Changes the multiplies with a sparse lhs that are wanted, in place."""
    for op in operations_named(module, (MMA_SPARSE,)):
        if is_wanted(op):
            with ir.InsertionPoint(op.operation), op.location:
                value = _multiplied(op)
            replace(op, [value])


def _multiplied(op: ir.OpView) -> ir.Value:
    operands, type = [_dense(op), op.rhs, op.acc], op.acc.type
    if spell(op.lhs.type.element) != "i8":
        return build("mmaf", operands, [type], part_of(op, 1)).result
    signs = {
        f"signedness_{side}": "unsigned" if getattr(op, f"{side}_unsigned") else "signed" for side in ("lhs", "rhs")
    }
    return build("mmai", operands, [type], part_of(op, 1) | signs).result


def sparse_codes(metadata: ir.Value, element: str) -> ir.Value:
    """The nibbles of each row as a tile of i8: one for each group of elements along K."""
    rows, words = metadata.type.shape
    shifts = NARROW.product([NARROW.iota(NIBBLES_PER_WORD), _NIBBLE_BITS])
    shape = (rows, words, NIBBLES_PER_WORD)
    each = broadcast(reshaped(metadata, (rows, words, 1)), shape)
    each = integer("shri", each, broadcast(reshaped(shifts, (1, 1, NIBBLES_PER_WORD)), shape), signedness="unsigned")
    each = build("trunci", [integer("andi", each, 15)], [TileType.get(shape, ir.IntegerType.get_signless(8))]).result
    if is_interleaved(element):
        each = _permuted(reshaped(each, interleaved_blocks(rows, words)), INTERLEAVING)
    return reshaped(each, (rows, words * NIBBLES_PER_WORD))


def _permuted(tile: ir.Value, order: Sequence[int]) -> ir.Value:
    type = TileType.get([tile.type.shape[dimension] for dimension in order], tile.type.element)
    return build("permute", [tile], [type], {"permutation": list(order)}).result


def _dense(op: ir.OpView) -> ir.Value:
    """The elements of all groups; those that are not kept are zero."""
    kept, element = op.lhs, spell(op.lhs.type.element)
    codes, size = sparse_codes(op.metadata, element), GROUPS[element]
    rows, groups = codes.type.shape
    shape = rows, groups, size
    codes = broadcast(reshaped(codes, (rows, groups, 1)), shape)
    positions = NARROW.iota(size)
    byte = TileType.get((size,), codes.type.element)
    positions = broadcast(reshaped(build("trunci", [positions], [byte]).result, (1, 1, size)), shape)
    pairs = reshaped(kept, (rows, groups, size // 2))
    values = [
        broadcast(Part(pairs, (0, 0, number), (rows, groups, 1)).extracted(), shape) for number in range(size // 2)
    ]
    type = TileType.get(shape, kept.type.element)
    zero = integer_splat(type, 0) if element == "i8" else float_splat(type, 0.0)
    if size == 2:
        first, second = SINGLE_NIBBLES
        wanted = integer("addi", integer("muli", positions, second - first), first)
        dense = _select(_equal(codes, wanted), values[0], zero)
    else:
        later = _select(_equal(integer("shri", codes, 2, signedness="unsigned"), positions), values[1], zero)
        dense = _select(_equal(integer("andi", codes, 3), positions), values[0], later)
    return reshaped(dense, (rows, groups * size))


def _equal(lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    attributes = {"comparison_predicate": "equal", "signedness": "unsigned"}
    type = TileType.get(lhs.type.shape, ir.IntegerType.get_signless(1))
    return build("cmpi", [lhs, rhs], [type], attributes).result


def _select(condition: ir.Value, value: ir.Value, otherwise: ir.Value) -> ir.Value:
    return build("select", [condition, value, otherwise], [value.type]).result
