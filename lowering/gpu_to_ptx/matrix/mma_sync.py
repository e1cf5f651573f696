"""mma.sync: matrix multiply-accumulate of a warp on operands in shared memory (PTX ISA 9.7.14.5)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix import MmaSyncOp
from tilec.element_types import INTEGER
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_floats
from tilec.lowering.gpu_to_ptx.matrix.operand_fragments import OperandFragments
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, element_named, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
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
)


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
    _product(lowering, op, layout).add(lowering, fragments)
    registers = [register for each in fragments for register in unpack(lowering, sums, each, size)]
    lowering.set(operation.results[0], converted_floats(lowering, sums, kind, "rn", registers))


def _operand(op: MmaSyncOp) -> PtxElement:
    return element_named(str(op.lhs.type.element))


def _sums(op: MmaSyncOp) -> PtxElement:
    """The element of sums: f32 for 8-bit floats, since ptxas 13.0 rounds sums in f16 three times per instruction."""
    return ELEMENTS["f32"] if _operand(op).suffix in ("e4m3", "e5m2") else element(op.accumulator)


@dataclass(frozen=True)
class _Product:
    """The fragments of both operands, and the instruction up to its registers."""

    left: OperandFragments
    right: OperandFragments
    steps: int
    instruction: str

    def add(self, lowering: Lowering, sums: list[list[ir.Value]]) -> None:
        """Adds the product to the accumulator fragments; columns are the lower bits of their number."""
        for step in range(self.steps):
            left, right = self._operands(step)
            for at, (rows, columns) in enumerate(itertools.product(left, right)):
                sums[at] = _multiplied(lowering, self.instruction, rows, columns, sums[at])

    def _operands(self, step: int) -> tuple[list[list[ir.Value]], list[list[ir.Value]]]:
        """The fragments of both operands for one step along K."""
        left, right = ([side.fragment(block, step) for block in range(side.blocks)] for side in (self.left, self.right))
        return left, right


def _product(lowering: Lowering, op: MmaSyncOp, layout: LinearLayout) -> _Product:
    """The operands of the tile; if it has few rows, the transposes of both, in the other order."""
    kind, depth = _operand(op), op.lhs.type.shape[1]
    operands = [(op.lhs, 1, op.lhs_unsigned), (op.rhs, 0, op.rhs_unsigned)]
    if is_transposed(layout.shape):
        layout = layout.transpose((1, 0))
        operands.reverse()
    fragments = [
        _fragments(lowering, kind, buffer, along_k, side(layout, depth, kind.bytes))
        for (buffer, along_k, _), side in zip(operands, (left_operand, right_operand), strict=True)
    ]
    types = [_operand_type(kind, is_unsigned) for _, _, is_unsigned in operands]
    each, sums = instruction_depth(depth, kind.bytes), _sums(op).suffix
    shape = f"m{FRAGMENT_ROWS}n{FRAGMENT_COLUMNS}k{each}"
    text = f"mma.sync.aligned.{shape}.row.col.{sums}.{types[0]}.{types[1]}.{sums}"
    return _Product(fragments[0], fragments[1], depth // each, text)


def _fragments(
    lowering: Lowering, kind: PtxElement, buffer: ir.Value, along_k: int, fragments: OperandLayout
) -> OperandFragments:
    """`along_k` is the dimension of the buffer along K."""
    shared = shared_layout(buffer.type)
    offsets = shared.matrix if along_k == 1 else shared.transpose().matrix
    return OperandFragments(lowering, kind, SharedAddress(lowering.scalar(buffer)), fragments, offsets)


def _operand_type(kind: PtxElement, is_unsigned: bool) -> str:
    return ("u8" if is_unsigned else "s8") if kind.kind == INTEGER else kind.suffix


def _multiplied(
    lowering: Lowering, instruction: str, left: list[ir.Value], right: list[ir.Value], sums: list[ir.Value]
) -> list[ir.Value]:
    lists, first = [], 0
    for registers in (sums, left, right, sums):
        lists.append("{" + ", ".join(f"${first + number}" for number in range(len(registers))) + "}")
        first += len(registers)
    types = [register.type for register in sums]
    return list(lowering.b.compute(f"{instruction} {', '.join(lists)};", types, *left, *right, *sums))
