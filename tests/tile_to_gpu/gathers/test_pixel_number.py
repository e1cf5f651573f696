"""Divisions of pixel numbers, whose operations on i32 and i64 are evaluated on Python integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilec.dialect.mlir import context, ir
from tilec.lowering.tile_to_gpu.conversion.im2col_position import PixelNumber, divide

EVALUATED: dict[str, Callable[..., int]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.divui": lambda x, y: x // y,
    "arith.remui": lambda x, y: x % y,
    "arith.shrui": lambda x, y: x >> y,
    "arith.andi": lambda x, y: x & y,
    "arith.extui": lambda x: x,
    "arith.trunci": lambda x: x,
    # Comparisons are all ult.
    "arith.cmpi": lambda x, y: int(x < y),
    "arith.select": lambda condition, x, y: x if condition else y,
}


def evaluate(block: ir.Block, arguments: list[int], wanted: ir.Value) -> int:
    """The value of an operation of a block as an unsigned number; each result wraps to its width."""
    values = dict(zip(block.arguments, arguments, strict=True))
    for operation in block.operations:
        name, result = operation.operation.name, operation.operation.results[0]
        if name == "arith.constant":
            number = operation.operation.attributes["value"].value
        else:
            number = EVALUATED[name](*(values[operand] for operand in operation.operation.operands))
        values[result] = number % (1 << result.type.width)
    return values[wanted]


# The first is in a tile of 128 pixels; others are beyond 2^32 pixels, with extents near 2^31 and 2^32.
CASES = [(5, 9, 7, 15), (2**25 + 3, 1, 7, 2**31 - 1), (2**32 - 1, 127, 7, 3), (77, 1, 3, 1), (0, 2, 7, 9)]
# Known extents are less than 2^31.
UNKNOWN = [(2**32 - 1, 5, 10, 2**32 - 1), (2**31 + 5, 3, 2, 2**31 + 6), (123456789, 60, 6, 2**20 + 7)]


@pytest.mark.parametrize(
    ("high", "low", "bits", "extent", "is_known"),
    [(*case, is_known) for case in CASES for is_known in (False, True)] + [(*case, False) for case in UNKNOWN],
)
@pytest.mark.parametrize("starts_a_tile", [False, True])
def test_quotient_and_remainder(
    high: int, low: int, bits: int, extent: int, is_known: bool, starts_a_tile: bool
) -> None:
    """(high * 2^bits + low) divided by an extent that is known or not, of the first pixel of a tile and of others."""
    low = 0 if starts_a_tile else low
    number = (high << bits) + low
    with context(), ir.Location.unknown():
        i32 = ir.IntegerType.get_signless(32)
        module = ir.Module.create()
        block = ir.Block.create_at_start(module.operation.regions[0], [i32] * 3, [ir.Location.unknown()] * 3)
        with ir.InsertionPoint(block):
            first, second, third = block.arguments
            given = PixelNumber(first, 0 if starts_a_tile else second, bits)
            quotient, rest = divide(given, extent if is_known else third)
            value = quotient.value()
        arguments = [high, low, extent]
        assert evaluate(block, arguments, value) == number // extent % 2**32
        assert (rest if isinstance(rest, int) else evaluate(block, arguments, rest)) == number % extent
