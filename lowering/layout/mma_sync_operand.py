"""The register layouts of the operands of mma.sync (PTX ISA 9.7.14.5), for the blocks of accumulators of each warp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.layout.blocked import doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout
from tilec.lowering.layout.mma_sync import ACCUMULATOR_BITS, along_columns, along_rows

# Bytes along K of 8 rows that one register of each lane holds, for elements of at most 4 bytes.
_REGISTER_DEPTH_BYTES = 16
# The same for f64, in elements.
_REGISTER_DEPTH_OF_F64 = 4


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


def left_operand(accumulator: LinearLayout, depth: int, element_bytes: int) -> OperandLayout:
    """The left operand, M x `depth`, for an accumulator layout that is not transposed."""
    rows = [basis[0] for basis in accumulator.register]
    lanes = [basis[0] for basis in accumulator.lane[2:]]
    warps = [basis[0] for basis in accumulator.warp]
    return _operand((accumulator.shape[0], depth), element_bytes, lanes, [rows[1]], rows[ACCUMULATOR_BITS:], warps)


def right_operand(accumulator: LinearLayout, depth: int, element_bytes: int) -> OperandLayout:
    """The transpose of the right operand, N x `depth`, for an accumulator layout that is not transposed."""
    columns = [basis[1] for basis in accumulator.register]
    lanes = [columns[0], *(basis[1] for basis in accumulator.lane[:2])]
    warps = [basis[1] for basis in accumulator.warp]
    return _operand((accumulator.shape[1], depth), element_bytes, lanes, [], columns[ACCUMULATOR_BITS:], warps)


def _operand(
    shape: tuple[int, int],
    element_bytes: int,
    lanes: Sequence[int],
    groups: Sequence[int],
    blocks: Sequence[int],
    warps: Sequence[int],
) -> OperandLayout:
    """The layout from the steps along rows of the upper lane bits, in an instruction, of blocks and of warps."""
    whole = instruction_depth(shape[1], element_bytes)
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
