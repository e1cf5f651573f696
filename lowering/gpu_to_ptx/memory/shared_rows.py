"""Loads of rows of a matrix in shared memory, whose numbers threads have computed.

A swizzle exchanges the units of 16 bytes of a row by the bits of the row's address, so that threads that load the same
columns of successive rows access different banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import LoadSharedRowsOp
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, widest
from tilec.lowering.gpu_to_ptx.registers.elements import element, layout_of
from tilec.lowering.gpu_to_ptx.registers.linear_index import linear_index
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import SharedLayout, swizzle_bits
from tilec.lowering.layout.vectors import register_vector, vector_groups


@lowers(LoadSharedRowsOp)
def load_shared_rows(lowering: Lowering, operation: ir.Operation) -> None:
    op: LoadSharedRowsOp = operation.opview
    layout, wanted = layout_of(op.result.type), layout_of(op.rows.type)
    if wanted != layout.keep(0):
        raise lowering.unsupported(
            operation, f"expected the numbers of rows in layout '{layout.keep(0)}', but got '{wanted}'"
        )
    access = _Rows(lowering, op, shared_layout(op.buffer.type), layout)
    kind, values, first = element(op.result), dict[int, ir.Value](), layout.representatives
    groups = vector_groups(layout.register_count, access.vector)
    for group in (group for group in groups if first[group[0]] == group[0]):
        loaded = load(lowering, Access("shared", *access.address(group[0])), kind, len(group))
        values.update(zip(group, loaded, strict=True))
    lowering.set(op.result, [values[register] for register in first])


@dataclass
class _Rows:
    """The addresses of the elements of a tile: base + row * row bytes + (column ^ swizzle of the row)."""

    lowering: Lowering
    op: LoadSharedRowsOp
    stored: SharedLayout
    layout: LinearLayout

    def __post_init__(self) -> None:
        self._rows = self.lowering.get(self.op.rows)
        # By the number of a row: the address of the thread's first column, if registers do not change it.
        self._starts: dict[ir.Value, ir.Value] = {}

    @cached_property
    def vector(self) -> tuple[int, ...]:
        """The bits of registers that successive elements of a row differ in, of one access."""
        matrices = (self.layout.register_matrix, self.layout.thread_matrix)
        registers, threads = ([self._position(column) for column in matrix.columns] for matrix in matrices)
        size = self.stored.element_bytes
        return register_vector(registers, threads, size, min(widest(element(self.op.result)), self._unit // size))

    def address(self, register: int) -> tuple[ir.Value, int]:
        """The address and the immediate offset of a register's element."""
        panel, column = self._column(self.layout.register_matrix(register))
        start, offset = self._start(self._rows[register]), panel * self.stored.panel_stride_bytes
        if not column:
            return start, offset
        if self.stored.swizzle == "none":
            return start, offset + column
        # The bits of a column are those of the address below the bytes of a row.
        return self.lowering.compute(f"xor.b32 $0, $1, {column};", "i32", start), offset

    @property
    def _unit(self) -> int:
        """The bytes that are adjacent in each row."""
        return min(self.stored.row_bytes, 16)

    def _column(self, index: int) -> tuple[int, int]:
        """The panel of an element, by its row-major number, and its byte in a row of the panel."""
        column = index % self.layout.shape[1]
        panel, inside = divmod(column, self.stored.panel_elements)
        return panel, inside * self.stored.element_bytes

    def _position(self, index: int) -> int:
        """Bits that are those of the byte in the row below its size, and distinct for other rows and panels."""
        panel, inside = self._column(index)
        row = index // self.layout.shape[1]
        return inside + (panel + row * self.stored.panels) * self.stored.row_bytes

    def _start(self, row: ir.Value) -> ir.Value:
        if row not in self._starts:
            self._starts[row] = self._start_of(row)
        return self._starts[row]

    def _start_of(self, row: ir.Value) -> ir.Value:
        """The address of the column of the thread in a row."""
        compute, size = self.lowering.compute, self.stored.row_bytes
        moved = self.lowering.plus(row, self.op.first)
        start = compute(f"mad.lo.s32 $0, $1, {size}, $2;", "i32", moved, self.lowering.scalar(self.op.buffer))
        panel, column = self._thread_column
        if panel is not None:
            start = compute(f"mad.lo.s32 $0, $1, {self.stored.panel_stride_bytes}, $2;", "i32", panel, start)
        if self.stored.swizzle != "none":
            column = self._swizzled(moved, column)
        return start if column is None else compute("add.s32 $0, $1, $2;", "i32", start, column)

    def _swizzled(self, row: ir.Value, column: ir.Value | None) -> ir.Value:
        """The column of the thread after the XOR with bits of the address of a row."""
        mask, shift = swizzle_bits(self.stored.swizzle)
        compute = self.lowering.compute
        # A pattern has 128 bytes in each line, which are several rows if these are shorter.
        lines = 128 // self.stored.row_bytes
        line = row if lines == 1 else compute(f"shr.u32 $0, $1, {lines.bit_length() - 1};", "i32", row)
        masked = compute(f"and.b32 $0, $1, {mask};", "i32", line)
        moved = compute(f"shl.b32 $0, $1, {shift};", "i32", masked)
        return moved if column is None else compute("xor.b32 $0, $1, $2;", "i32", moved, column)

    @cached_property
    def _thread_column(self) -> tuple[ir.Value | None, ir.Value | None]:
        """The panel and the byte in its row of a thread's first element; None for zero."""
        parts = [self._column(column) for column in self.layout.thread_matrix.columns]
        panels, insides = (tuple(part[number] for part in parts) for number in (0, 1))
        bits = (self.stored.panels.bit_length(), self.stored.row_bytes.bit_length())
        matrices = (BitMatrix(columns, count) for columns, count in zip((panels, insides), bits, strict=True))
        panel, inside = (linear_index(self.lowering, matrix, self.lowering.thread) for matrix in matrices)
        return panel, inside
