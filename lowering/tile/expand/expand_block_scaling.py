"""mmaf_scaled -> an mmaf without scale factors per block along K, whose result times the factors is added.

    mmaf_scaled a, b, c, s, t  ->  c_0 = c;  c_k+1 = fma(mmaf(a[:, k], b[k, :], 0), s[:, k] * t[k, :], c_k)

The elements are converted to f16, which has all values of f8 and f4. Products of f8E4M3FN factors are exact in f32. A
product of f8E8M0FNU factors may be out of the range of f32 although the result is not, so each factor is divided into
two, 2^e = 2^ceil(e / 2) * 2^floor(e / 2): the product of the greater halves and that of the lesser halves are in range.
Multiplying a sum by the first of them is exact unless the result is infinite, or so small that it is zero.
"""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import float_splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, broadcast
from tilec.lowering.tile.analysis.replacing import replace_results
from tilec.lowering.tile.divide.multiply_parts import part_of
from tilec.lowering.tile.divide.slices import Slice
from tilec.lowering.tile.expand.widen_operands import converted

# f8E8M0FNU: code e is 2^(e - 127), and 255 is NaN. The exponent of f32 has the same bias, and 23 bits below it.
_BIAS, _NAN_CODE, _FRACTION_BITS = 127, 255, 23
_NAN = 0x7FC00000


def expand_block_scaling(module: ir.Module, is_wanted: Callable[[ir.OpView], bool] = lambda op: True) -> None:
    """Changes the block-scaled multiplies of rank 2 that are wanted, in place."""
    names = ("mmaf_scaled", "tilex.mmaf_scaled")
    replace_results(module, dict.fromkeys(names, lambda op: _expanded(op) if is_wanted(op) else None))


def _expanded(op: ir.OpView) -> ir.Value | None:
    if op.acc.type.rank != 2:
        return None
    lhs, rhs = converted(op.lhs, ir.F16Type.get()), converted(op.rhs, ir.F16Type.get())
    factors = list(zip(_factors(op.lhs_scale), _factors(op.rhs_scale), strict=True))
    sum, blocks = op.acc, op.lhs_scale.type.shape[1]
    attributes = part_of(op, blocks)
    for block in range(blocks):
        operands = [_block(lhs, 1, block, blocks), _block(rhs, 0, block, blocks), float_splat(op.acc.type, 0.0)]
        product = build("mmaf", operands, [op.acc.type], attributes).result
        *first, last = (_outer_product(*pair, block, op.acc.type) for pair in factors)
        for factor in first:
            product = build("mulf", [product, factor], [product.type]).result
        sum = build("fma", [product, last, sum], [sum.type]).result
    return sum


def _factors(scale: ir.Value) -> list[ir.Value]:
    """Tiles of f32 whose product is a tile of scale factors: one, or the two halves of powers of two."""
    single = ir.F32Type.get()
    if spell(scale.type.element) != "f8E8M0FNU":
        return [converted(scale, single)]
    byte = TileType.get(scale.type.shape, ir.IntegerType.get_signless(8))
    code = NARROW.cast(build("bitcast", [scale], [byte]).result)
    is_number = NARROW.is_less(code, _NAN_CODE)
    return [_half(code, is_number, rounding) for rounding in (1, 0)]


def _half(code: ir.Value, is_number: ir.Value, rounding: int) -> ir.Value:
    """2^((code - 127 + rounding) / 2), rounded down, in f32; NaN where the code is not that of a number."""
    exponent = NARROW.quotient(NARROW.sum([code, _BIAS + rounding]), 2)
    bits = NARROW.select(is_number, NARROW.product([exponent, 1 << _FRACTION_BITS]), _NAN)
    return build("bitcast", [bits], [TileType.get(code.type.shape, ir.F32Type.get())]).result


def _outer_product(column: ir.Value, row: ir.Value, block: int, type: TileType) -> ir.Value:
    """The products of the factors of one block: of each row of lhs by each column of rhs."""
    lhs = _block(column, 1, block, column.type.shape[1])
    rhs = _block(row, 0, block, row.type.shape[0])
    return build("mulf", [broadcast(lhs, type.shape), broadcast(rhs, type.shape)], [type]).result


def _block(tile: ir.Value, dimension: int, block: int, blocks: int) -> ir.Value:
    """One of the equal parts of a matrix along a dimension."""
    return Slice(dimension, block, tile.type.shape[dimension] // blocks).part(tile).extracted()
