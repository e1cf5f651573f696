"""stmatrix: stores fragments of 16-bit elements to shared memory by rows of 16 bytes (PTX ISA 9.7.14.5.16)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.shared_access import SharedAccess
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout

_ELEMENT_BYTES, _ROW_BYTES = 2, 16
# The offsets of the bits of an element's number in a row of a matrix, which has eight elements.
_ROW = (2, 4, 8)
_ROW_BITS = len(_ROW)
# An instruction stores up to four matrices.
_MAXIMUM_MATRIX_BITS = LANE_BITS - _ROW_BITS


def stored_by_matrices(
    lowering: Lowering,
    kind: PtxElement,
    base: SharedAddress,
    layout: LinearLayout,
    registers: list[ir.Value],
    offsets: BitMatrix,
) -> bool:
    """Stores element i (row-major) at byte offsets(i) from `base`; False if the layout is not one of matrices.

    Each register of a matrix holds two elements of a row, or with `.trans` of a column.
    """
    columns = (offsets @ layout.register_matrix).columns
    threads = (offsets @ layout.thread_matrix).columns
    if kind.bytes != _ELEMENT_BYTES or layout.free_register_mask or layout.free_thread_mask or not columns:
        return False
    inner, outer = columns[:1] + threads[:2], threads[2:LANE_BITS]
    if inner == _ROW:
        rows, transpose = outer, ""
    elif outer == _ROW:
        rows, transpose = inner, ".trans"
    else:
        return False
    matrices = columns[1:]
    if any(column % _ROW_BYTES for column in (*rows, *matrices, *threads[LANE_BITS:])) or base.alignment < _ROW_BYTES:
        return False
    packed = pack(lowering, kind, registers)
    count = 1 << min(len(matrices), _MAXIMUM_MATRIX_BITS)
    # The lower three lane bits select a row of a matrix, the others one of the first matrices.
    selected = [*matrices[:_MAXIMUM_MATRIX_BITS], 0, 0][:_MAXIMUM_MATRIX_BITS]
    addressed = (*rows, *selected, *threads[LANE_BITS:])
    bits = offsets.rows
    access = SharedAccess(lowering, kind, base, BitMatrix(matrices, bits), BitMatrix(addressed, bits))
    listed = ", ".join(f"${number + 1}" for number in range(count))
    for first in range(0, len(packed), count):
        address, offset = access.address(first)
        text = f"stmatrix.sync.aligned.m8n8.x{count}{transpose}.shared.b16 [$0{f'+{offset}' if offset else ''}]"
        lowering.b.execute(f"{text}, {{{listed}}};", (), address, *packed[first : first + count])
    return True
