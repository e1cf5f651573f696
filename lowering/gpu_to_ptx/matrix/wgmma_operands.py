"""The operands of wgmma: descriptors of shared memory, or registers of the lhs (PTX ISA 9.7.15.5)."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.registers.elements import element_of, layout_of
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import MatrixOperand, descriptor, moved
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack
from tilec.lowering.layout.wgmma import groups_along_columns, wgmma_metadata, wgmma_operand
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP, WGMMA_DESCRIPTOR

ROWS = 64
# Registers of the lhs that one instruction reads (PTX ISA 9.7.15.5.1).
_STEP_REGISTERS = 4
_REGISTER_BYTES = 4


@dataclass(frozen=True)
class SharedSide:
    """An operand in shared memory and its descriptor."""

    operand: MatrixOperand
    start: ir.Value

    @property
    def transposes(self) -> tuple[int, ...]:
        return (int(not self.operand.is_k_major),)

    def step(self, lowering: Lowering, step: int) -> list[ir.Value]:
        """The descriptor of one step along K."""
        return [moved(lowering, self.start, self.operand.step_offset(step))]

    def from_row(self, lowering: Lowering, row: int) -> SharedSide:
        """The operand from a row (column of the rhs) on."""
        return SharedSide(self.operand, moved(lowering, self.start, self.operand.row_offset(row)))

    def block(self, lowering: Lowering, number: int, blocks: int) -> SharedSide:
        """The rows of one of the `blocks` of the warpgroup."""
        return self.from_row(lowering, number * block_rows(lowering))

    def spell(self, first: int) -> str:
        """The operand of the instruction, whose operands are numbered from `first`."""
        return f"${first}"


@dataclass(frozen=True)
class RegisterSide:
    """An lhs in registers, those of each step after those of the one before."""

    registers: list[ir.Value]
    # PTX ISA 9.7.15.5.2: only descriptors have a transposition.
    transposes: tuple[int, ...] = ()

    def step(self, lowering: Lowering, step: int) -> list[ir.Value]:
        """The registers of one step along K."""
        return self.registers[step * _STEP_REGISTERS : (step + 1) * _STEP_REGISTERS]

    def block(self, lowering: Lowering, number: int, blocks: int) -> RegisterSide:
        """The rows of one of the `blocks` of the warpgroup."""
        size = len(self.registers) // blocks
        return RegisterSide(self.registers[number * size : (number + 1) * size])

    def spell(self, first: int) -> str:
        """The operand of the instruction, whose operands are numbered from `first`."""
        return f"{{{operands(_STEP_REGISTERS, first)}}}"


@dataclass(frozen=True)
class Sides:
    """Both operands of a multiply, or of a block of its rows, and the registers of metadata of a sparse lhs."""

    lhs: SharedSide | RegisterSide
    rhs: SharedSide
    metadata: tuple[ir.Value, ...] = ()

    @property
    def steps(self) -> int:
        return self.rhs.operand.steps // self.rhs_steps

    @property
    def rhs_steps(self) -> int:
        """The steps of the rhs that an instruction multiplies: a sparse lhs has half of the elements along K."""
        return 2 if self.metadata else 1

    @property
    def _selectors(self) -> int:
        """The steps whose metadata is in one register (PTX ISA 9.7.15.5.2)."""
        return max(1, self.steps // max(1, len(self.metadata)))

    def selector(self, step: int) -> int:
        """Which two threads of four have the metadata of a step."""
        return step % self._selectors

    def metadata_of(self, step: int) -> tuple[ir.Value, ...]:
        """The register of metadata of a step; none of a dense lhs."""
        return self.metadata[step // self._selectors :][:1]

    @property
    def step_elements(self) -> int:
        return self.rhs.operand.step_elements

    @property
    def transposes(self) -> tuple[int, ...]:
        return self.lhs.transposes + self.rhs.transposes

    def block(self, lowering: Lowering, number: int, blocks: int) -> Sides:
        """The operands of one of the `blocks` of rows of the warpgroup."""
        size = len(self.metadata) // blocks
        own = self.metadata[number * size : (number + 1) * size]
        return Sides(self.lhs.block(lowering, number, blocks), self.rhs, own)

    def from_column(self, lowering: Lowering, column: int) -> Sides:
        """The operands from a column of the rhs on."""
        return Sides(self.lhs, self.rhs.from_row(lowering, column), self.metadata)


def block_rows(lowering: Lowering) -> int:
    """The rows of the accumulator that all warpgroups multiply by one instruction each, if they divide the rows."""
    return ROWS * (lowering.warps // WARPS_OF_A_GROUP)


def lhs_registers(lowering: Lowering, op: WgmmaOp) -> list[ir.Value]:
    """The packed registers of an lhs in registers; none if it is in shared memory."""
    if not is_register_tile(op.lhs.type):
        return []
    kind, found = element_of(op.lhs.type), layout_of(op.lhs.type)
    if found != wgmma_operand(found.shape, lowering.warps, kind.bytes):
        raise lowering.unsupported(op.operation, f"expected an lhs in the layout of wgmma, but got {found}")
    packed = pack(lowering, kind, lowering.get(op.lhs))
    if kind.bytes < _REGISTER_BYTES:
        return packed
    return [lowering.compute("mov.b32 $0, $1;", "i32", register) for register in packed]


def metadata_registers(lowering: Lowering, op: WgmmaOp) -> tuple[ir.Value, ...]:
    """The registers of metadata of a sparse lhs, those of each step after those of the one before."""
    if op.metadata is None:
        return ()
    found = layout_of(op.metadata.type)
    if found != wgmma_metadata(found.shape, lowering.warps):
        raise lowering.unsupported(op.operation, f"expected metadata in the layout of wgmma, but got {found}")
    return tuple(lowering.get(op.metadata))


def lhs_side(lowering: Lowering, op: WgmmaOp, registers: list[ir.Value]) -> SharedSide | RegisterSide:
    """The lhs, in the `registers` if there are any, or the descriptor of the rows of the warpgroup."""
    if registers:
        return RegisterSide(registers)
    lhs = MatrixOperand.lhs(op)
    start = descriptor(lowering, lowering.scalar(op.lhs), lhs, WGMMA_DESCRIPTOR)
    _, along_rows = _groups(lowering, op)
    if along_rows == 1:
        return SharedSide(lhs, start)
    group = _group(lowering)
    if along_rows < lowering.warps // WARPS_OF_A_GROUP:
        group = lowering.b.compute(f"and.b32 $0, $1, {along_rows - 1};", lowering.b.i32, group)
    start, in_period = _moved_by(lowering, start, group, lhs.row_offset(ROWS)), (lhs.period or ROWS) // ROWS
    if 1 < in_period < along_rows:
        # A pitch further for each period, which has several groups.
        period = lowering.b.compute(f"shr.u32 $0, $1, {in_period.bit_length() - 1};", lowering.b.i32, group)
        more = lhs.row_offset(in_period * ROWS) - in_period * lhs.row_offset(ROWS)
        start = _moved_by(lowering, start, period, more)
    return SharedSide(lhs, start)


def rhs_side(lowering: Lowering, op: WgmmaOp) -> SharedSide:
    """The rhs and the descriptor of the columns of the warpgroup."""
    rhs = MatrixOperand(shared_layout(op.rhs.type), 0)
    start = descriptor(lowering, lowering.scalar(op.rhs), rhs, WGMMA_DESCRIPTOR)
    along_columns, along_rows = _groups(lowering, op)
    if along_columns == 1:
        return SharedSide(rhs, start)
    group = _group(lowering)
    if along_rows > 1:
        group = lowering.b.compute(f"shr.u32 $0, $1, {along_rows.bit_length() - 1};", lowering.b.i32, group)
    return SharedSide(rhs, _moved_by(lowering, start, group, rhs.row_offset(columns_of_group(lowering, op))))


def columns_of_group(lowering: Lowering, op: WgmmaOp) -> int:
    """The columns of the accumulator that a warpgroup has."""
    return op.accumulator.type.shape[1] // _groups(lowering, op)[0]


def _groups(lowering: Lowering, op: WgmmaOp) -> tuple[int, int]:
    """The warpgroups along the columns and along the rows of the accumulator."""
    along_columns = groups_along_columns(op.accumulator.type.shape[0], lowering.warps)
    return along_columns, lowering.warps // WARPS_OF_A_GROUP // along_columns


def _group(lowering: Lowering) -> ir.Value:
    return lowering.b.compute("shr.u32 $0, $1, 2;", lowering.b.i32, lowering.warp)


def _moved_by(lowering: Lowering, start: ir.Value, number: ir.Value, offset: int) -> ir.Value:
    """The descriptor with its start address `number` times `offset` bytes further."""
    b = lowering.b
    units = b.compute(f"mul.lo.u32 $0, $1, {offset >> 4};", b.i32, number)
    wide = b.compute("cvt.u64.u32 $0, $1;", b.i64, units)
    return b.compute("add.s64 $0, $1, $2;", b.i64, start, wide)
