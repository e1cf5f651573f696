"""Loads and stores of tiles in tensor memory (PTX ISA 9.7.16.8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.lowering.gpu.memory.shared_plan import tensor_layout
from tilec.lowering.gpu_to_ptx.registers.elements import element_of, layout_of
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, unpack
from tilec.lowering.layout.tensor_layout import CELL_BYTES, TensorLayout
from tilec.lowering.target import LANES

# Registers per ld or st: fewer leave the scheduler more freedom, more need fewer instructions.
LARGEST_ACCESS_REGISTERS = 64
# Of several loads: ptxas computes with the registers of one while the next are loaded.
OVERLAPPED_LOAD_REGISTERS = 32
LANE_SHIFT = 16


@dataclass(frozen=True)
class Access:
    """One ld or st: its shape, its registers, and its first column."""

    shape: str
    registers: range
    column: int


def accesses(layout: TensorLayout, step: int, warps: int, overlapped: int = LARGEST_ACCESS_REGISTERS) -> list[Access]:
    """The accesses of one warp to its lanes and columns of a tile, whose cells are in successive registers.

    `step` columns lie between its blocks of rows. If one access is not enough, each has `overlapped` registers.
    """
    own = layout.block_columns // (warps // 4)
    if layout.lanes == 64:
        return _narrow(own, 4 if layout.per_cell > 1 else 8)
    size = own if own <= LARGEST_ACCESS_REGISTERS else overlapped
    return [
        Access(f"32x32b.x{size}", range(block * own + first, block * own + first + size), block * step + first)
        for block in range(layout.blocks)
        for first in range(0, own, size)
    ]


def _narrow(own: int, step: int) -> list[Access]:
    """64 rows: .16x128b moves four columns with two registers, .16x256b eight with four."""
    registers = own // 2
    size = min(registers, LARGEST_ACCESS_REGISTERS)
    return [
        Access(f"16x{step * 32}b.x{size * 2 // step}", range(first, first + size), first * 2)
        for first in range(0, registers, size)
    ]


def _address(lowering: Lowering, op: ir.OpView, buffer: ir.Value, layout: TensorLayout) -> ir.Value:
    """The address of this warp's lanes, at its first column of a tile that begins at a column of the buffer."""
    base = lowering.plus(lowering.scalar(buffer), (op.first_column or 0) // layout.per_cell)
    within = lowering.compute("and.b32 $0, $1, $2;", "i32", lowering.warp, 3)
    lanes = lowering.compute("shl.b32 $0, $1, $2;", "i32", within, (LANES << LANE_SHIFT).bit_length() - 1)
    address = lowering.compute("add.s32 $0, $1, $2;", "i32", base, lanes)
    if lowering.warps == 4:
        return address
    group = lowering.compute("shr.u32 $0, $1, $2;", "i32", lowering.warp, 2)
    own = layout.block_columns // (lowering.warps // 4)
    own = layout.apart if layout.pieces > 1 else own
    return lowering.compute("mad.lo.s32 $0, $1, $2, $3;", "i32", group, own, address)


def _layout(lowering: Lowering, operation: ir.Operation, tile: ir.Value, whole: TensorLayout) -> TensorLayout:
    """The layout of a tile in a buffer; raises UnsupportedError for a tile in other registers."""
    layout = replace(whole, shape=tuple(tile.type.shape))
    expected = layout.registers(lowering.warps)
    if layout_of(tile.type) != expected:
        raise lowering.unsupported(
            operation,
            f"expected a tile in the layout '{expected}' of this tensor memory, but got {tile.type.encoding.value}: "
            "convert it with tile_gpu.convert_layout",
        )
    return layout


@lowers(LoadTensorMemoryOp)
def _load(lowering: Lowering, operation: ir.Operation) -> None:
    buffer, result = operation.operands[0], operation.results[0]
    whole = tensor_layout(buffer.type)
    layout = _layout(lowering, operation, result, whole)
    cell = lowering.b.f32 if str(buffer.type.element) == "f32" else lowering.b.i32
    address = _address(lowering, operation.opview, buffer, layout)
    cells: list[ir.Value] = []
    for access in accesses(layout, whole.block_columns, lowering.warps, OVERLAPPED_LOAD_REGISTERS):
        count = len(access.registers)
        text = f"tcgen05.ld.sync.aligned.{access.shape}.b32 {{{operands(count)}}}, [${count}];"
        cells += lowering.b.execute(text, [cell] * count, lowering.plus(address, access.column))
    # PTX ISA 9.7.16.6.4: the registers of a load are defined after the wait, so they are tied to it.
    waited = lowering.b.execute("tcgen05.wait::ld.sync.aligned;", [cell] * len(cells), *cells, tied=range(len(cells)))
    lowering.set(result, _elements(lowering, list(waited), buffer.type))


def _elements(lowering: Lowering, cells: list[ir.Value], buffer: BufferType) -> list[ir.Value]:
    """The elements of each cell; a single narrow one is its low half."""
    element, layout = element_of(buffer.element), tensor_layout(buffer)
    if element.bytes == CELL_BYTES:
        return cells
    if layout.packed:
        return unpack(lowering, element, cells, len(cells) * layout.per_cell)
    return [lowering.b.compute("cvt.u16.u32 $0, $1;", lowering.b.i16, cell) for cell in cells]


@lowers(StoreTensorMemoryOp)
def _store(lowering: Lowering, operation: ir.Operation) -> None:
    tile, buffer = operation.operands
    whole = tensor_layout(buffer.type)
    layout = _layout(lowering, operation, tile, whole)
    cells = _cells(lowering, lowering.get(tile), buffer.type)
    address = _address(lowering, operation.opview, buffer, layout)
    for access in accesses(layout, whole.block_columns, lowering.warps):
        text = f"tcgen05.st.sync.aligned.{access.shape}.b32 [$0], {{{operands(len(access.registers), 1)}}};"
        stored = (cells[register] for register in access.registers)
        lowering.b.execute(text, (), lowering.plus(address, access.column), *stored)
    if not operation.opview.pending:
        lowering.b.execute("tcgen05.wait::st.sync.aligned;")


def _cells(lowering: Lowering, elements: list[ir.Value], buffer: BufferType) -> list[ir.Value]:
    """The cells with these elements; the upper half of a cell with a single narrow element is zero."""
    element, layout = element_of(buffer.element), tensor_layout(buffer)
    if element.bytes == CELL_BYTES:
        return elements
    if layout.packed:
        return pack(lowering, element, elements)
    return [lowering.b.compute("cvt.u32.u16 $0, $1;", lowering.b.i32, register) for register in elements]
