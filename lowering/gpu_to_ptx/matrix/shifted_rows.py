"""Operand lhs in tensor memory whose rows move from tap to tap: tcgen05.cp and tcgen05.shift (PTX ISA 9.7.16.9)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shifted_rows import (
    LANE_GROUPS,
    LHS_ROWS,
    RowsInIntervalOp,
    Tcgen05CopyRowsOp,
    Tcgen05ShiftRowsOp,
    ZeroRowsOp,
)
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.memory.tensor_memory import LANE_SHIFT
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import MatrixOperand, descriptor, moved
from tilec.lowering.layout.tensor_layout import CELL_BYTES
from tilec.lowering.matrix_unit import STEP_BYTES, TCGEN05_DESCRIPTOR
from tilec.lowering.target import LANES

_STEP_COLUMNS = STEP_BYTES // CELL_BYTES
# The last lane of the first group of 32.
_LAST_LANE = LANES - 1 << LANE_SHIFT


@lowers(Tcgen05CopyRowsOp)
def _copy_rows(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05CopyRowsOp = operation.opview
    run = MatrixOperand(shared_layout(op.source.type), 1)
    start = descriptor(lowering, lowering.scalar(op.source), run, TCGEN05_DESCRIPTOR)
    with lowering.issuing() as elected:
        for step in range(run.steps):
            to = lowering.plus(lowering.scalar(op.rows), step * _STEP_COLUMNS)
            source = moved(lowering, start, run.step_offset(step))
            lowering.b.execute("@$0 tcgen05.cp.cta_group::1.128x256b [$1], $2;", (), elected, to, source)


@lowers(Tcgen05ShiftRowsOp)
def _shift_rows(lowering: Lowering, operation: ir.Operation) -> None:
    """PTX ISA 9.7.16.6.2: multiply, shift, copy of four rows, and multiply follow each other without a wait.

    .ashift of the multiply before precedes the shift of the last step, and so the copies after this one.
    """
    op: Tcgen05ShiftRowsOp = operation.opview
    run, rows = MatrixOperand(shared_layout(op.source.type), 1), lowering.scalar(op.rows)
    start = descriptor(lowering, lowering.scalar(op.source), run, TCGEN05_DESCRIPTOR)
    new_rows = run.row_offset(LHS_ROWS + LANE_GROUPS * (op.tap - 1))
    with lowering.issuing() as elected:
        for step in range(run.steps - 1 if op.after_ashift else 0, run.steps):
            at = lowering.plus(rows, step * _STEP_COLUMNS)
            lowering.b.execute("@$0 tcgen05.shift.cta_group::1.down [$1];", (), elected, at)
        for step in range(run.steps):
            to = lowering.plus(rows, step * _STEP_COLUMNS + _LAST_LANE)
            source = moved(lowering, start, new_rows + run.step_offset(step))
            lowering.b.execute("@$0 tcgen05.cp.cta_group::1.4x256b [$1], $2;", (), elected, to, source)


@lowers(RowsInIntervalOp)
def _rows_in_interval(lowering: Lowering, operation: ir.Operation) -> None:
    """Each thread of a warp finds the bit of its lane in each word (PTX ISA 9.7.13.11)."""
    op: RowsInIntervalOp = operation.opview
    first = lowering.compute("add.s32 $0, $1, $2;", "i32", lowering.scalar(op.start), lowering.lane)
    for word, result in enumerate(operation.results):
        row = lowering.plus(first, word * LANES)
        at = lowering.compute("rem.u32 $0, $1, $2;", "i32", row, op.period)
        # Unsigned, so that what is before the interval is beyond it.
        at = lowering.plus(at, -op.begin)
        inside = lowering.compute("setp.lt.u32 $0, $1, $2;", "i1", at, op.end - op.begin)
        text = "vote.sync.ballot.b32 $0, $1, 0xffffffff;"
        lowering.set(result, [lowering.b.execute(text, lowering.b.i32, inside)])


@lowers(ZeroRowsOp)
def _zero_rows(lowering: Lowering, operation: ir.Operation) -> None:
    """Each group of lanes has a part of the rows, and starts in the period where it says (PTX ISA 9.7.16.4.3)."""
    op: ZeroRowsOp = operation.opview
    groups, zeros = LHS_ROWS // op.columns, op.end - op.begin
    counts = lowering.compute("mov.b32 $0, $1;", "i32", 0)
    fields = 1 << 7 | zeros - 1 << 8 | op.period - zeros - 1 << 16
    flags = lowering.compute("mov.b32 $0, $1;", "i32", fields)
    for group in range(groups):
        row = lowering.plus(lowering.scalar(op.start), group * (op.rows // groups) + op.period - op.begin)
        at = lowering.compute("rem.u32 $0, $1, $2;", "i32", row, op.period)
        is_zero = lowering.compute("setp.lt.u32 $0, $1, $2;", "i1", at, zeros)
        count = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", at, lowering.plus(at, -zeros), is_zero)
        counts = lowering.compute("mad.lo.s32 $0, $1, $2, $3;", "i32", count, 1 << 8 * group, counts)
        flag = lowering.compute("selp.b32 $0, $1, 0, $2;", "i32", 1 << group, is_zero)
        flags = lowering.compute("or.b32 $0, $1, $2;", "i32", flags, flag)
    lowering.set(op.first, [counts])
    lowering.set(op.second, [flags])
