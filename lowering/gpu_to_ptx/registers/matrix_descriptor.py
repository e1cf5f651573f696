"""Matrix descriptors of tcgen05 and wgmma: encoding of a shared buffer, and the offset of each step along K."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix_rules import PATTERN_ROWS, row_of_run
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.matrix_unit import STEP_BYTES, DescriptorFormat

_ADDRESS_MASK, _LOW_HALF = 0x3FFFF, 0xFFFFFFFF
# The swizzles whose pattern repeats after fewer than PATTERN_ROWS rows (PTX ISA 5.5.7).
_FEWER_PATTERN_ROWS = {"128B_atom_32B": 4}


def operand_format(kind: str, is_unsigned: bool) -> str:
    """The PTX type of an operand; i8 is s8 or u8."""
    if kind == "i8":
        return "u8" if is_unsigned else "s8"
    return ELEMENTS[kind].suffix


@dataclass(frozen=True)
class MatrixOperand:
    """An operand in shared memory; `depth` is its dimension along K.

    Of rows along K it may have those from `first` on, `period` rows after each `pitch` rows.
    """

    layout: SharedLayout
    depth: int
    first: int = 0
    period: int | None = None
    pitch: int | None = None

    @staticmethod
    def lhs(op: ir.OpView) -> MatrixOperand:
        """The lhs of a multiply, with the rows that it reads."""
        return MatrixOperand(shared_layout(op.lhs.type), 1, op.shifted or 0, op.period, op.pitch)

    @property
    def is_k_major(self) -> bool:
        return self.layout.contiguous == self.depth

    @property
    def step_elements(self) -> int:
        return STEP_BYTES // self.layout.element_bytes

    @property
    def steps(self) -> int:
        """The number of instructions along K."""
        return self.layout.shape[self.depth] // self.step_elements

    def step_offset(self, step: int) -> int:
        """Bytes from the start of the buffer to step number `step`."""
        if not self.is_k_major:
            return step * self.step_elements * self.layout.row_bytes
        panel, inside = divmod(step * STEP_BYTES, self.layout.row_bytes)
        return panel * self.layout.panel_stride_bytes + inside

    def row_offset(self, row: int) -> int:
        """Bytes from the first row to row (column of rhs) number `row`, a multiple of the panel or of eight rows."""
        if self.is_k_major:
            return row_of_run(row, self.period, self.pitch) * self.layout.row_bytes
        return row // self.layout.panel_elements * self.layout.panel_stride_bytes

    def constant_bits(self, format: DescriptorFormat) -> int:
        """The bits of the descriptor except the start address."""
        pattern = _FEWER_PATTERN_ROWS.get(self.layout.swizzle, PATTERN_ROWS)
        # Groups of eight rows may be further apart in a run.
        next_group = row_of_run(pattern, self.period, self.pitch)
        leading, stride = self.layout.panel_stride_bytes, next_group * self.layout.row_bytes
        if self.is_k_major and (self.layout.swizzle != "none" or self.layout.panels == 1):
            # This form ignores the leading offset; 1 is what the manual's examples write.
            leading = 1 << 4
        elif not self.is_k_major and self.layout.swizzle == "none" and self.layout.panels > 1:
            # PTX ISA 9.7.16.4.1: without swizzle the two offsets of an MN-major operand have each other's meaning.
            leading, stride = stride, leading
        bits = (leading >> 4 & 0x3FFF) << 16 | (stride >> 4 & 0x3FFF) << 32
        return bits | format.constant_bits | format.swizzles[self.layout.swizzle] << format.swizzle_shift


def descriptor(lowering: Lowering, address: ir.Value, operand: MatrixOperand, format: DescriptorFormat) -> ir.Value:
    """The descriptor of the rows of an operand in a buffer; `moved` offsets its start address.

    That of a slot of a ring is the descriptor of the first slot, which ptxas computes once, with its offset.
    """
    b, bits = lowering.b, operand.constant_bits(format)
    slot = lowering.slot_addresses.get(address)
    if slot is not None:
        low = b.compute(f"or.b32 $0, $1, {bits & _LOW_HALF:#x};", b.i32, _encoded(lowering, slot.base))
        low = b.compute(f"mad.lo.s32 $0, $1, {slot.step >> 4}, $2;", b.i32, slot.number, low)
        start = b.compute(f"mov.b64 $0, {{$1, {bits >> 32:#x}}};", b.i64, low)
    else:
        wide = b.compute("cvt.u64.u32 $0, $1;", b.i64, _encoded(lowering, address))
        start = b.compute(f"or.b64 $0, $1, 0x{bits:016x};", b.i64, wide)
    return moved(lowering, start, operand.first * operand.layout.row_bytes)


def _encoded(lowering: Lowering, address: ir.Value) -> ir.Value:
    """The bits of an address in a descriptor (PTX ISA 9.7.15.5.1)."""
    b = lowering.b
    masked = b.compute(f"and.b32 $0, $1, {_ADDRESS_MASK};", b.i32, address)
    return b.compute("shr.u32 $0, $1, 4;", b.i32, masked)


def moved(lowering: Lowering, start: ir.Value, offset: int) -> ir.Value:
    """The descriptor with its start address `offset` bytes further."""
    if not offset:
        return start
    return lowering.b.compute(f"add.s64 $0, $1, {offset >> 4};", lowering.b.i64, start)
