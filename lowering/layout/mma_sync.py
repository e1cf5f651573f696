"""The register layouts of mma.sync (PTX ISA 9.7.14.5): accumulators and operands, in blocks of each warp.

A fragment of accumulators is 16 rows of the left operand times 8 columns of the right one. A tile of fewer than 16 rows
is computed as its transpose. An extent smaller than that of a fragment is repeated: several registers or lanes hold one
element.

If operands are bytes, rows and columns are by pairs: rows 2i and 2i + 1 of 16 rows are row i of the upper and of the
lower half of a fragment, and columns 2i and 2i + 1 of 16 columns are column i of two fragments. A transposed load of
16-bit elements then has bytes of the rows (columns) that a lane multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.layout.blocked import along_columns, along_rows, doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout

# Bytes along K of 8 rows that one register of each lane holds, for elements of at most 4 bytes.
_REGISTER_DEPTH_BYTES = 16
# The same for f64, in elements.
_REGISTER_DEPTH_OF_F64 = 4
FRAGMENT_ROWS, FRAGMENT_COLUMNS = 16, 8
# The registers of an accumulator fragment are the lowest bits of a register number, by column, then by row.
ACCUMULATOR_BITS = 2


def is_transposed(shape: Sequence[int]) -> bool:
    """Whether the rows of an accumulator are the columns of fragments."""
    return shape[0] < FRAGMENT_ROWS


def mma_sync_accumulator(shape: Sequence[int], warps: int, element_bytes: int) -> LinearLayout:
    """Accumulators of 32 or 64 bits, or of unpacked f16: blocks of fragments by warp, then fragments by register.

    `element_bytes` is the size of an element of the operands. Raises ValueError for a tile of fewer than 16 rows and
    columns.
    """
    if len(shape) != 2 or max(shape) < FRAGMENT_ROWS:
        raise ValueError(f"expected at least {FRAGMENT_ROWS} rows or columns, got {tuple(shape)}")
    if is_transposed(shape):
        return _fragments(shape[1], shape[0], warps, element_bytes).transpose((1, 0))
    return _fragments(shape[0], shape[1], warps, element_bytes)


def _fragments(rows: int, columns: int, warps: int, element_bytes: int) -> LinearLayout:
    shape = (rows, columns)
    paired = element_bytes == 1 and columns > FRAGMENT_COLUMNS
    least_columns = 2 * FRAGMENT_COLUMNS if paired else FRAGMENT_COLUMNS
    warp: list[Basis] = []
    while 1 << len(warp) < warps:
        rows, columns, step = _split(rows, columns, least_columns)
        warp.append(step)
    row = _paired([1, 2, 4, 8]) if element_bytes == 1 else [1, 2, 4, 8]
    column = [1, 2, 4, *doubling(FRAGMENT_COLUMNS, columns)]
    if paired:
        column[:4] = _paired(column[:4])
    blocks = [*along_columns(column[3:]), *along_rows(doubling(FRAGMENT_ROWS, rows))]
    register = (*along_columns(column[:1]), *along_rows(row[3:]), *blocks)
    lane = (*along_columns(column[1:3]), *along_rows(row[:3]))
    return LinearLayout(_inside(shape, register), _inside(shape, lane), tuple(warp), shape)


def _paired(steps: Sequence[int]) -> list[int]:
    """The lowest step last."""
    return [*steps[1:], steps[0]]


def _inside(shape: Sequence[int], bases: Sequence[Basis]) -> tuple[Basis, ...]:
    """The bases, zero where they leave the tile."""
    return tuple(
        basis if all(step < extent for step, extent in zip(basis, shape, strict=True)) else (0,) * len(basis)
        for basis in bases
    )


def _split(rows: int, columns: int, least_columns: int) -> tuple[int, int, Basis]:
    """The block of each half of the warps, and the basis of the bit that tells them apart; zero if both have it all.

    A warp loads the operands of all rows and columns of its block, so the longer side is halved.
    """
    can_split_rows, can_split_columns = rows > FRAGMENT_ROWS, columns > least_columns
    if can_split_rows and (rows >= columns or not can_split_columns):
        return rows // 2, columns, (rows // 2, 0)
    if can_split_columns:
        return rows, columns // 2, (0, columns // 2)
    return rows, columns, (0, 0)


def least_depth(element_bytes: int) -> int:
    """The fewest elements along K that an instruction multiplies."""
    return _REGISTER_DEPTH_OF_F64 if element_bytes == 8 else _REGISTER_DEPTH_BYTES // element_bytes


def instruction_depth(depth: int, element_bytes: int) -> int:
    """The elements along K that one instruction multiplies, for operands of `depth` elements along K."""
    return min(depth, least_depth(element_bytes) * (4 if element_bytes == 8 else 2))


@dataclass(frozen=True)
class OperandLayout:
    """The fragments of an operand of shape M x K, or of the transpose of an operand of shape K x N, in a warp.

    `packed` has the bits of an element in a register, `instruction` those of a register in an instruction, `blocks`
    those of the 16 rows (8 columns) of the accumulator, `steps` those of the instruction along K.
    """

    shape: tuple[int, int]
    packed: tuple[Basis, ...]
    instruction: tuple[Basis, ...]
    blocks: tuple[Basis, ...]
    steps: tuple[Basis, ...]
    lane: tuple[Basis, ...]
    warp: tuple[Basis, ...]

    @property
    def layout(self) -> LinearLayout:
        """The layout of all fragments, from the bits of elements to those of steps."""
        return LinearLayout(
            (*self.packed, *self.instruction, *self.blocks, *self.steps), self.lane, self.warp, self.shape
        )


def sparse_metadata(words: int, accumulator: LinearLayout) -> LinearLayout:
    """The words of metadata of a sparse left operand (dialect/tilex), of as many rows as an accumulator layout.

    Lanes 0 and 1 of four have words of the two rows that they multiply, lanes 2 and 3 the next word of each, if there
    are several (PTX ISA 9.7.14.6.2).
    """
    rows = [basis[0] for basis in accumulator.register]
    blocks = [step for step in rows[ACCUMULATOR_BITS:] if step]
    return LinearLayout(
        (*along_columns(doubling(2, words)), *along_rows(blocks)),
        ((rows[1], 0), (0, min(1, words - 1)), *((basis[0], 0) for basis in accumulator.lane[2:])),
        tuple((basis[0], 0) for basis in accumulator.warp),
        (accumulator.shape[0], words),
    )


def left_operand(accumulator: LinearLayout, depth: int, element_bytes: int) -> OperandLayout:
    """The left operand, M x `depth`, for an accumulator layout that is not transposed."""
    rows = [basis[0] for basis in accumulator.register]
    lanes = [basis[0] for basis in accumulator.lane[2:]]
    warps = [basis[0] for basis in accumulator.warp]
    return _operand((accumulator.shape[0], depth), element_bytes, lanes, [rows[1]], rows[ACCUMULATOR_BITS:], warps)


def right_operand(accumulator: LinearLayout, depth: int, element_bytes: int, factor: int = 1) -> OperandLayout:
    """The transpose of the right operand, N x `depth`, for an accumulator layout that is not transposed.

    An instruction multiplies `factor` times as many elements along K as a dense one: twice with a sparse left operand.
    """
    columns = [basis[1] for basis in accumulator.register]
    lanes = [columns[0], *(basis[1] for basis in accumulator.lane[:2])]
    warps = [basis[1] for basis in accumulator.warp]
    shape = (accumulator.shape[1], depth)
    return _operand(shape, element_bytes, lanes, [], columns[ACCUMULATOR_BITS:], warps, factor)


def _operand(
    shape: tuple[int, int],
    element_bytes: int,
    lanes: Sequence[int],
    groups: Sequence[int],
    blocks: Sequence[int],
    warps: Sequence[int],
    factor: int = 1,
) -> OperandLayout:
    """The layout from the steps along rows of the upper lane bits, in an instruction, of blocks and of warps."""
    whole = factor * instruction_depth(shape[1] // factor, element_bytes)
    packed, lanes_along_k, groups_along_k = _depth_steps(whole, element_bytes)
    return OperandLayout(
        shape,
        along_columns(packed),
        (*along_rows(groups), *along_columns(groups_along_k)),
        along_rows([step for step in blocks if step]),
        along_columns(doubling(whole, shape[1])),
        (*along_columns(lanes_along_k), *along_rows(lanes)),
        along_rows(warps),
    )


def _depth_steps(whole: int, element_bytes: int) -> tuple[list[int], list[int], list[int]]:
    """The steps along K in an instruction: of elements in a register, of the lower two lane bits, of registers.

    The registers of f64 are consecutive elements, so that loads are vectors: K is permuted, in both operands alike.
    """
    if element_bytes == 8:
        steps = doubling(1, whole)
        return [], steps[-2:], steps[:-2]
    per_register, group = 4 // element_bytes, least_depth(element_bytes)
    return doubling(1, per_register), doubling(per_register, group), doubling(group, whole)
