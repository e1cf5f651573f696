"""Numbers of tiles of a view: whether they are known to lie inside the index space, and numbers that do not wrap.

Accesses that are expanded check the bounds that are not known, so that a tile outside the index space is padding in
loads and is dropped by stores, as in views that are not expanded.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import bounds, greatest
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import IndexArithmetic, Number
from tilec.lowering.tile.analysis.tile_operations import counting_loop, operand_behind, producer


def limited(numbers: IndexArithmetic, tile: ir.Value, step: int) -> Number:
    """The number of a tile, read as unsigned, in the width of `numbers`.

    Where its product with `step`, the elements between tiles, may wrap, it is at most the first number whose product is
    2^(width - 1) or more, which no extent reaches.
    """
    if greatest(tile) * step + step <= 1 << numbers.width:
        return numbers.cast(tile)
    wide = IndexArithmetic(max(numbers.width, tile.type.element.width))
    first_beyond = -(-(1 << numbers.width - 1) // step)
    return numbers.cast(wide.made(wide.at_most(first_beyond, wide.cast(tile))))


def is_below(tile: ir.Value, extent: Number, factor: int, divisor: int) -> bool:
    """Whether the number of a tile is known to be from 0 to below ceil(extent * factor / divisor), the number of tiles.

    By intervals, because a loop counts the tiles, or as the remainder of a division by their number.
    """
    known, least = bounds(tile), extent if isinstance(extent, int) else max(0, bounds(extent).low)
    if known.low >= 0 and known.high < -(-least * factor // divisor):
        return True
    limit = _limit(tile)
    if limit is None or isinstance(extent, int):
        return False
    numerator, divided_by = _quotient(limit)
    value, multiplied_by = _product(numerator)
    is_same_extent = _without_casts(value) == _without_casts(extent)
    return is_same_extent and multiplied_by * divisor == factor * divided_by


def _limit(value: ir.Value) -> ir.Value | None:
    """A value that a number from 0 on is below: the upper bound of the loop that counts it, or its divisor."""
    if (remainder := producer(value, "remi")) is not None:
        return None if bounds(remainder.lhs).low < 0 else remainder.rhs
    loop = counting_loop(value)
    return None if loop is None or loop.unsignedCmp or bounds(loop.lowerBound).low < 0 else loop.upperBound


def _quotient(value: ir.Value) -> tuple[ir.Value, int]:
    """The dividend of successive quotients by positive constants, and the product of the constants.

    The quotients are at most ceil(dividend / product), however each of them is rounded.
    """
    total = 1
    while (quotient := producer(_without_casts(value), "divi")) is not None:
        divisor = splat(quotient.rhs)
        if divisor is None or divisor < 1:
            break
        value, total = quotient.lhs, total * divisor
    return value, total


def _product(value: ir.Value) -> tuple[ir.Value, int]:
    """The factor of a product with a positive constant, and the constant; other values are multiplied by 1."""
    product = producer(_without_casts(value), "muli")
    factor = None if product is None else splat(product.rhs)
    return (value, 1) if product is None or factor is None or factor < 1 else (product.lhs, factor)


def _without_casts(value: ir.Value) -> ir.Value:
    """The value before casts to other widths and assumptions; a truncated limit counts no more tiles."""
    return operand_behind(value, "assume", "exti", "trunci")
