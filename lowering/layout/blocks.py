"""Layouts of tiles that are grids of blocks, and the registers of one block."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import along, doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout, flatten, unflatten


def repeated(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout of a tile of `shape` whose blocks all have `layout`: the highest register bits select the block."""
    selecting = [
        basis
        for dimension, extent in enumerate(shape)
        for basis in along(dimension, doubling(layout.shape[dimension], extent), len(shape))
    ]
    return LinearLayout((*layout.register, *selecting), layout.lane, layout.warp, tuple(shape))


def block_of(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout | None:
    """The layout of every block of `shape`; None unless register bits alone select the block."""

    def inside(basis: Basis) -> bool:
        return all(coordinate < extent for coordinate, extent in zip(basis, shape, strict=True))

    selecting = [basis for basis in layout.register if not inside(basis)]
    if not all(map(inside, layout.lane + layout.warp)) or any(
        coordinate % extent for basis in selecting for coordinate, extent in zip(basis, shape, strict=True)
    ):
        return None
    return LinearLayout(tuple(filter(inside, layout.register)), layout.lane, layout.warp, tuple(shape))


def extracted_registers(whole: LinearLayout, block: LinearLayout, position: Sequence[int]) -> list[int] | None:
    """For each register of the block at a position of the grid, the register of the whole that holds its element.

    None if an element moves between threads.
    """
    if not _same_threads(whole, block):
        return None
    start = [index * extent for index, extent in zip(position, block.shape, strict=True)]
    inner = [block.apply(register, 0, 0) for register in range(block.register_count)]
    coordinates = [[a ^ b for a, b in zip(start, each, strict=True)] for each in inner]
    return whole.register_matrix.solve_all(flatten(each, whole.shape) for each in coordinates)


def inserted_registers(whole: LinearLayout, block: LinearLayout) -> list[tuple[tuple[int, ...], int]] | None:
    """For each register of the whole, its position in the grid of blocks and the register of the block there.

    None if an element moves between threads.
    """
    if not _same_threads(whole, block):
        return None
    coordinates = [unflatten(image, whole.shape) for image in whole.register_images]
    positions = [tuple(c // e for c, e in zip(each, block.shape, strict=True)) for each in coordinates]
    inner = [[c % e for c, e in zip(each, block.shape, strict=True)] for each in coordinates]
    registers = block.register_matrix.solve_all(flatten(each, block.shape) for each in inner)
    return None if registers is None else list(zip(positions, registers, strict=True))


def _same_threads(whole: LinearLayout, block: LinearLayout) -> bool:
    return whole.lane + whole.warp == block.lane + block.warp


def interleaved(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """As repeated(), but elements that are adjacent in memory are in adjacent registers.

    This is so where the first registers of a block have a whole row each, of one element at least.
    """
    whole, rows = repeated(layout, shape), doubling(1, layout.shape[-1])
    first = tuple(along(len(shape) - 1, rows, len(shape)))
    if layout.register[: len(first)] != first:
        return whole
    rest = whole.register[len(first) :]
    inner = [basis for basis in rest if basis[-1]]
    outer = [basis for basis in rest if not basis[-1]]
    return LinearLayout((*first, *inner, *outer), whole.lane, whole.warp, whole.shape)


def doubled(layout: LinearLayout, dimension: int) -> LinearLayout:
    """The layout of two tiles concatenated along `dimension`: a register bit selects the tile."""
    return interleaved(layout, tuple(2 * e if d == dimension else e for d, e in enumerate(layout.shape)))


def halved(layout: LinearLayout, dimension: int) -> LinearLayout | None:
    """The layout of either half along `dimension`; None unless register bits alone select the half."""
    return block_of(layout, tuple(e // 2 if d == dimension else e for d, e in enumerate(layout.shape)))
