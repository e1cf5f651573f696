"""mma.sync: matrix multiply-accumulate of a warp on operands in shared memory (PTX ISA 9.7.14.5 and 9.7.14.6)."""

from __future__ import annotations

import itertools
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_floats
from tilec.lowering.gpu_to_ptx.matrix.operand_fragments import OperandFragments
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, element_named, layout_of
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import operand_format
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, unpack
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.mma_sync import (
    ACCUMULATOR_BITS,
    FRAGMENT_COLUMNS,
    FRAGMENT_ROWS,
    OperandLayout,
    instruction_depth,
    is_transposed,
    left_operand,
    mma_sync_accumulator,
    right_operand,
    sparse_metadata,
)

# A register of metadata, and the selector of the threads that have it.
_Metadata: TypeAlias = tuple[ir.Value, int]


@lowers(MmaSyncOp)
def _mma_sync(lowering: Lowering, operation: ir.Operation) -> None:
    op: MmaSyncOp = operation.opview
    tile = op.accumulator.type
    layout = layout_of(tile)
    kind, sums = element(op.accumulator), _sums(op)
    if layout != mma_sync_accumulator(tile.shape, lowering.warps, _operand(op).bytes):
        raise lowering.unsupported(operation, f"expected an accumulator in the layout of mma.sync, but got {layout}")
    registers = converted_floats(lowering, kind, sums, "rn", lowering.get(op.accumulator))
    size = 1 << ACCUMULATOR_BITS
    fragments = [pack(lowering, sums, registers[at : at + size]) for at in range(0, len(registers), size)]
    _add_product(lowering, op, layout, fragments)
    registers = [register for each in fragments for register in unpack(lowering, sums, each, size)]
    lowering.set(operation.results[0], converted_floats(lowering, sums, kind, "rn", registers))


def _operand(op: MmaSyncOp) -> PtxElement:
    return element_named(str(op.lhs.type.element))


def _sums(op: MmaSyncOp) -> PtxElement:
    """The element of sums: f32 for 8-bit floats, since ptxas 13.0 rounds sums in f16 three times per instruction."""
    return ELEMENTS["f32"] if _operand(op).suffix in ("e4m3", "e5m2") else element(op.accumulator)


def _add_product(lowering: Lowering, op: MmaSyncOp, layout: LinearLayout, sums: list[list[ir.Value]]) -> None:
    """Adds the product to the accumulator fragments; columns are the lower bits of their number.

    If the tile has few rows, the operands are the transposes of both, in the other order.
    """
    kind, depth, factor = _operand(op), op.lhs.type.shape[1], 1 if op.metadata is None else 2
    sides = [(op.lhs, 1, op.lhs_unsigned), (op.rhs, 0, op.rhs_unsigned)]
    if is_transposed(layout.shape):
        layout = layout.transpose((1, 0))
        sides.reverse()
    layouts = left_operand(layout, depth, kind.bytes), right_operand(layout, factor * depth, kind.bytes, factor)
    fragments = [
        _fragments(lowering, kind, buffer, along_k, side)
        for (buffer, along_k, _), side in zip(sides, layouts, strict=True)
    ]
    lhs, rhs = (operand_format(str(side.type.element), is_unsigned) for side, _, is_unsigned in sides)
    each, sum = instruction_depth(depth, kind.bytes), _sums(op).suffix
    form = "mma" if op.metadata is None else "mma.sp::ordered_metadata"
    text = f"{form}.sync.aligned.m{FRAGMENT_ROWS}n{FRAGMENT_COLUMNS}k{factor * each}.row.col.{sum}.{lhs}.{rhs}.{sum}"
    metadata = _metadata(lowering, op, layout, depth // each, fragments[0].blocks)
    for step, kept in enumerate(metadata):
        left, right = ([side.fragment(block, step) for block in range(side.blocks)] for side in fragments)
        for at, ((rows, words), columns) in enumerate(itertools.product(zip(left, kept, strict=True), right)):
            sums[at] = _multiplied(lowering, text, rows, columns, sums[at], words)


def _fragments(
    lowering: Lowering, kind: PtxElement, buffer: ir.Value, along_k: int, fragments: OperandLayout
) -> OperandFragments:
    """`along_k` is the dimension of the buffer along K."""
    shared = shared_layout(buffer.type)
    offsets = shared.matrix if along_k == 1 else shared.transpose().matrix
    return OperandFragments(lowering, kind, SharedAddress(lowering.scalar(buffer)), fragments, offsets)


def _metadata(
    lowering: Lowering, op: MmaSyncOp, layout: LinearLayout, steps: int, blocks: int
) -> list[list[_Metadata | None]]:
    """The metadata for each step along K and each block of 16 rows; None if lhs is dense."""
    if op.metadata is None:
        return [[None] * blocks] * steps
    expected, found = sparse_metadata(op.metadata.type.shape[1], layout), layout_of(op.metadata.type)
    if found != expected:
        raise lowering.unsupported(op.operation, f"expected metadata in the layout {expected}, but got {found}")
    registers = lowering.get(op.metadata)
    # PTX ISA 9.7.14.6.2: of bytes all four threads of a row have metadata of an instruction, of others two have.
    of_block, selectors = len(registers) // blocks, 1 if _operand(op).bytes == 1 else 2
    return [
        [(registers[block * of_block + step // selectors], step % selectors) for block in range(blocks)]
        for step in range(steps)
    ]


def _multiplied(
    lowering: Lowering,
    instruction: str,
    left: list[ir.Value],
    right: list[ir.Value],
    sums: list[ir.Value],
    metadata: _Metadata | None,
) -> list[ir.Value]:
    lists, inputs, first = [], [*left, *right, *sums], 0
    for registers in (sums, left, right, sums):
        lists.append(f"{{{operands(len(registers), first)}}}")
        first += len(registers)
    if metadata is not None:
        register, selector = metadata
        lists.append(f"${first}, {selector}")
        inputs.append(register)
    types = [register.type for register in sums]
    return list(lowering.b.compute(f"{instruction} {', '.join(lists)};", types, *inputs))
