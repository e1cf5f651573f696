"""The position of the first element of a tile equals the division of its number, also beyond 2^32 elements."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tilec
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, Number
from tilec.lowering.tile.expand.im2col_positions import row_major_start
from tilec.text_input.module import Module

# A kernel that stores four numbers, of which the test makes the position.
KERNEL = """entry @k(%p: tile<ptr<i32>>, %tile: tile<i32>, %inner: tile<i32>, %outer: tile<i32>) {
{stores}
}"""
STORE = """%k{0} = constant <i32: {0}> : tile<i32>
%a{0} = offset %p, %k{0} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
%s{0} = store_ptr_tko weak %a{0}, %tile : tile<ptr<i32>>, tile<i32> -> token"""


def kernel(bits: int, known: tuple[int, int] | None) -> Module:
    """Stores the number of tiles, the rest, and the position in two extents: the arguments, or known ones."""
    module = Module.parse(KERNEL.replace("{stores}", "\n".join(map(STORE.format, range(4)))))
    stores = list(operations_named(module.ir, ("cuda_tile.store_ptr_tko",)))
    entry = stores[0].operation.block
    _, tile, inner, outer = entry.arguments
    with ir.InsertionPoint.at_block_begin(entry), ir.Location.unknown(module.ir.context):
        extents: tuple[Number, ...] = (outer, inner) if known is None else known[::-1]
        start = row_major_start(NARROW, tile, bits, extents)
        for store, value in zip(stores, (start.tiles, start.rest, *start.position), strict=True):
            store.operation.operands[1] = NARROW.made(value)
    module.verify()
    return module


def position(number: int, bits: int, inner: int, outer: int) -> list[int]:
    rest, column = divmod(number << bits, inner)
    image, row = divmod(rest, outer)
    return [image >> bits, image & ((1 << bits) - 1), row, column]


EXTENTS = (1, 2, 3, 14, 127, 128, 65536, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1)
TILES = (0, 1, 5, 1000, 2**24 - 1, 2**31 - 1, 2**32 - 1)


def check(module: Module, number: int, bits: int, inner: int, outer: int) -> None:
    found = np.zeros(4, np.uint32)
    arguments = [int(np.uint32(value).view(np.int32)) for value in (number, inner, outer)]
    tilec.run(module, 1, [found, *arguments], backend="interpret")
    assert found.tolist() == position(number, bits, inner, outer), (number, bits, inner, outer)


@pytest.mark.parametrize("bits", [0, 1, 6, 7, 10])
def test_extents_of_arguments(bits: int) -> None:
    module = kernel(bits, None)
    numbers = random.Random(bits)
    cases = list(itertools.product(TILES, EXTENTS, EXTENTS))
    for number, inner, outer in numbers.sample(cases, 60):
        check(module, number, bits, inner, outer)
    for _ in range(40):
        check(module, *(numbers.randrange(2**32), bits, numbers.randrange(1, 2**20), numbers.randrange(1, 2**20)))


@pytest.mark.parametrize("known", [(14, 14), (1, 7), (2**24 + 1, 3), (7, 2**31 - 1)])
def test_known_extents(known: tuple[int, int]) -> None:
    module = kernel(7, known)
    for number in TILES:
        check(module, number, 7, *known)
