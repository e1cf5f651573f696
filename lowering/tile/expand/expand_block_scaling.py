"""mmaf_scaled -> mmaf of operands of 16 bits, which are multiplied by their scale factors first.

mmaf_scaled a, b, c, s, t  ->  mmaf(f16(a) * s, f16(b) * t, c)                               with f8E4M3FN factors
                               fma(mmaf(bf16(a) * 2^(s - i), bf16(b) * 2^(t - j), 0) * 2^g, 2^h, c)    f8E8M0FNU

Scaled operands are exact. f16 has the products of f4E2M1FN and f8E4M3FN, from 2^-10 to 2688. Factors of f8E8M0FNU have
the exponents -127 to 127; elements with them are beyond bf16, and products of both factors beyond f32. So the factors
of each operand are divided into windows of 64 exponents, from the least one of the tile on: i and j are in the middle
of their windows, so that scaled elements and sums of products are normal numbers. g and h are halves of i + j: the
product with 2^g is exact unless the result is infinite, or so small that it is zero. A loop has an iteration for each
pair of windows, in which other factors are zero: one iteration unless factors of an operand differ by 2^64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import float_splat, integer_splat
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, broadcast
from tilec.lowering.tile.analysis.replacing import replace_results
from tilec.lowering.tile.analysis.tile_parts import reshaped
from tilec.lowering.tile.divide.divided_dimensions import OF_PART
from tilec.lowering.tile.expand.widen_operands import converted

# f8E8M0FNU: code e is 2^(e - 127), and 255 is NaN. bf16 and f32 have the same bias, above 7 and 23 bits.
_BIAS, _NAN_CODE = 127, 255
_BF16_BITS, _F32_BITS, _BF16_NAN = 7, 23, 0x7FC0
# The exponents of a window, as a power of two, and the greatest middle of one: the window has all codes up to 254.
_WINDOW_BITS, _LAST_MIDDLE = 6, 222
_WINDOW = 1 << _WINDOW_BITS
# Zero times infinity is NaN, so that a factor of zero leaves out no element of these.
_WITH_INFINITIES = ("f8E5M2",)


def expand_block_scaling(module: ir.Module, is_wanted: Callable[[ir.OpView], bool] = lambda op: True) -> None:
    """Changes the block-scaled multiplies of rank 2 that are wanted, in place."""
    names = ("mmaf_scaled", "tilex.mmaf_scaled")
    replace_results(module, dict.fromkeys(names, lambda op: _expanded(op) if is_wanted(op) else None))


def _expanded(op: ir.OpView) -> ir.Value | None:
    if op.acc.type.rank != 2:
        return None
    if spell(op.lhs_scale.type.element) == "f8E8M0FNU":
        return _added_in_windows(op)
    sides = ((op.lhs, op.lhs_scale), (op.rhs, op.rhs_scale))
    operands = [_scaled(tile, converted(factors, ir.F16Type.get())) for tile, factors in sides]
    return build("mmaf", [*operands, op.acc], [op.acc.type]).result


def _scaled(tile: ir.Value, factors: ir.Value) -> ir.Value:
    """A tile in the type of its factors, times the factors, of which each block of elements has one."""
    type = TileType.get(tile.type.shape, factors.type.element)
    return build("mulf", [converted(tile, type.element), _each_element(factors, type.shape)], [type]).result


def _each_element(factors: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The value of each element of a matrix whose blocks along the dimension with fewer values have one each."""
    (along,) = (d for d, (count, extent) in enumerate(zip(factors.type.shape, shape, strict=True)) if count < extent)
    before, count, after = shape[:along], factors.type.shape[along], shape[along + 1 :]
    single = reshaped(factors, (*before, count, 1, *after))
    return reshaped(broadcast(single, (*before, count, shape[along] // count, *after)), shape)


# ---- powers of two


@dataclass(frozen=True)
class _Side:
    """An operand, the codes of its factors, and the least and the greatest code of a number among them."""

    tile: ir.Value
    codes: ir.Value
    least: ir.Value
    greatest: ir.Value

    def windows(self) -> ir.Value:
        """The number of windows that have all factors: one if none is a number."""
        spread = NARROW.at_least(0, NARROW.difference(self.greatest, self.least))
        return NARROW.sum([_halved(spread, _WINDOW_BITS), 1])

    def scaled(self, start: ir.Value, middle: ir.Value) -> ir.Value:
        """The operand times the factors of the window from a code on, over that of its middle, and zero for others."""
        codes = self.codes
        is_inside = NARROW.is_less(NARROW.difference(codes, start), _WINDOW)
        exponents = NARROW.sum([NARROW.difference(codes, middle), _BIAS])
        bits = NARROW.select(is_inside, NARROW.product([exponents, 1 << _BF16_BITS]), 0)
        bits = NARROW.select(NARROW.is_less(codes, _NAN_CODE), bits, _BF16_NAN)
        narrow = build("trunci", [bits], [TileType.get(codes.type.shape, ir.IntegerType.get_signless(16))]).result
        product = _scaled(self.tile, _bitcast(narrow, ir.BF16Type.get()))
        if spell(self.tile.type.element) not in _WITH_INFINITIES:
            return product
        is_kept = _each_element(NARROW.is_less(0, bits), product.type.shape)
        return build("select", [is_kept, product, float_splat(product.type, 0.0)], [product.type]).result


def _added_in_windows(op: ir.OpView) -> ir.Value:
    """The accumulator and the products with the factors of each pair of windows."""
    lhs, rhs = _sides(op)
    number = NARROW.scalar
    limits = [integer_splat(number, 0), NARROW.product([lhs.windows(), rhs.windows()]), integer_splat(number, 1)]
    loop = build("for", [*limits, [op.acc, lhs.least, rhs.least]], [[op.acc.type, number, number]])
    body = loop.regions[0].blocks.append(number, op.acc.type, number, number, arg_locs=[op.location] * 4)
    with ir.InsertionPoint(body):
        _, sum, *starts = body.arguments
        sum = _added((lhs, rhs), starts, sum)
        following = [NARROW.sum([start, _WINDOW]) for start in starts]
        is_last = NARROW.is_less(rhs.greatest, following[1])
        choices = ((following[0], starts[0]), (rhs.least, following[1]))
        build("continue", [[sum, *(NARROW.select(is_last, *choice) for choice in choices)]])
    return loop.results[0]


def _added(sides: Sequence[_Side], starts: Sequence[ir.Value], sum: ir.Value) -> ir.Value:
    """A sum and the products with the factors of the windows that start at two codes."""
    middles = [NARROW.at_most(_LAST_MIDDLE, NARROW.sum([start, _WINDOW // 2])) for start in starts]
    exponent = NARROW.made(NARROW.sum(middles))
    half = _halved(exponent, 1)
    powers = [NARROW.product([code, 1 << _F32_BITS]) for code in (half, NARROW.difference(exponent, half))]
    factors = [broadcast(_bitcast(NARROW.made(bits), ir.F32Type.get()), sum.type.shape) for bits in powers]
    operands = [side.scaled(*place) for side, *place in zip(sides, starts, middles, strict=True)]
    product = build("mmaf", [*operands, float_splat(sum.type, 0.0)], [sum.type]).result
    product = build("mulf", [product, factors[0]], [product.type]).result
    return build("fma", [product, factors[1], sum], [sum.type]).result


def _sides(op: ir.OpView) -> list[_Side]:
    """lhs and rhs, whose limits are reduced together."""
    codes, limits = list[ir.Value](), list[ir.Value]()
    for along, scale in enumerate((op.lhs_scale, op.rhs_scale)):
        wide = TileType.get(scale.type.shape, NARROW.scalar.element)
        byte = _bitcast(scale, ir.IntegerType.get_signless(8))
        code = build("exti", [byte], [wide], {"signedness": "unsigned"}).result
        # The least code is 255 less the greatest difference to 255.
        differences = NARROW.difference(integer_splat(wide, _NAN_CODE), code)
        is_number = NARROW.is_less(code, _NAN_CODE)
        codes.append(code)
        limits += _greatest([NARROW.select(is_number, value, -1) for value in (code, differences)], along)
    limits = _greatest(limits, 0)
    least = [NARROW.difference(integer_splat(NARROW.scalar, _NAN_CODE), value) for value in limits[1::2]]
    parts = zip((op.lhs, op.rhs), codes, least, limits[0::2], strict=True)
    return [_Side(*each) for each in parts]


def _greatest(tiles: Sequence[ir.Value], dimension: int) -> list[ir.Value]:
    """The maximum of signed numbers along a dimension, of each tile; a CTA may have the maxima of its part."""
    number = NARROW.scalar
    shape = [extent for d, extent in enumerate(tiles[0].type.shape) if d != dimension]
    least = ir.IntegerAttr.get(number.element, -1 << NARROW.width - 1)
    attributes = {"dim": dimension, "identities": ir.ArrayAttr.get([least] * len(tiles)), OF_PART: ir.UnitAttr.get()}
    made = build("reduce", [list(tiles)], [[TileType.get(shape, number.element)] * len(tiles)], attributes)
    types = [number] * 2 * len(tiles)
    body = made.regions[0].blocks.append(*types, arg_locs=[made.location] * len(types))
    with ir.InsertionPoint(body):
        pairs = zip(body.arguments[0::2], body.arguments[1::2], strict=True)
        build("yield", [build("maxi", pair, [number], {"signedness": "signed"}).result for pair in pairs])
    return list(made.results)


def _halved(number: ir.Value, times: int) -> ir.Value:
    """A number that is not negative, divided by two several times and rounded down."""
    return build("shri", [number, integer_splat(number.type, times)], [number.type], {"signedness": "unsigned"}).result


def _bitcast(tile: ir.Value, element: ir.Type) -> ir.Value:
    return build("bitcast", [tile], [TileType.get(tile.type.shape, element)]).result
