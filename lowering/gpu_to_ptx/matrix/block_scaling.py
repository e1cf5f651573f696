"""tcgen05.mma with block scaling, and the copies of its scale factors (PTX ISA 9.7.16.9.2 and 9.7.16.10.7)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.scaled import Tcgen05CopyScalesOp, Tcgen05MmaScaledOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import MatrixOperand, descriptor, moved
from tilec.lowering.layout.scale_layout import ATOM_FACTORS, ScaleLayout, parse_scale_layout
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.matrix_unit import TCGEN05_DESCRIPTOR
from tilec.lowering.target import TENSOR_LANES

# An atom of scale factors is 32 rows of 16 bytes without swizzle, as tcgen05.cp.32x128b reads them.
_ATOM = MatrixOperand(SharedLayout((32, 16), 1, 1), 1)
# PTX ISA 9.7.16.4.2: type codes of A and B in kinds mxf8f6f4 and mxf4nvf4, and of the scale factors.
_INPUTS = {"f8E4M3FN": 0, "f8E5M2": 1, "f4E2M1FN": 1}
_SCALES = {"f8E4M3FN": 0, "f8E8M0FNU": 1}


def instruction_descriptor(
    element: str, scale: str, columns: int, first_factor: int, lhs_mn_major: bool = False, rhs_mn_major: bool = False
) -> int:
    """The instruction descriptor for 128 rows (PTX ISA 9.7.16.4.2).

    `first_factor` is the byte in each word of tensor memory that has the first scale factor along K.
    """
    return (
        first_factor << 4
        | _INPUTS[element] << 7
        | _INPUTS[element] << 10
        | int(lhs_mn_major) << 15
        | int(rhs_mn_major) << 16
        | columns >> 3 << 17
        | _SCALES[scale] << 23
        | TENSOR_LANES >> 7 << 27
        | first_factor << 29
    )


def _scale_layout(buffer: BufferType) -> ScaleLayout:
    return parse_scale_layout(buffer.layout, buffer.shape)


@lowers(Tcgen05CopyScalesOp)
def _copy(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05CopyScalesOp = operation.opview
    layout, column = _scale_layout(op.source.type), lowering.scalar(op.destination)
    start = descriptor(lowering, lowering.scalar(op.source), _ATOM, TCGEN05_DESCRIPTOR)
    with lowering.issuing() as elected:
        for group in range(layout.row_groups):
            for record in range(layout.records):
                source = moved(lowering, start, layout.atom_offset(group, record))
                to = lowering.compute("add.s32 $0, $1, $2;", "i32", column, layout.atom_column(group, record))
                lowering.b.execute("@$0 tcgen05.cp.cta_group::1.32x128b.warpx4 [$1], $2;", (), elected, to, source)


@lowers(Tcgen05MmaScaledOp)
def _mma(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05MmaScaledOp = operation.opview
    rows, columns = op.accumulator.type.shape
    lhs, rhs = MatrixOperand(shared_layout(op.lhs.type), 1), MatrixOperand(shared_layout(op.rhs.type), 0)
    lhs_start = descriptor(lowering, lowering.scalar(op.lhs), lhs, TCGEN05_DESCRIPTOR)
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    instructions = _instruction_descriptors(lowering, op, lhs, rhs)
    always = lowering.b.compute("setp.eq.b32 $0, 0, 0;", lowering.b.i1)
    text = f"@$0 tcgen05.mma.cta_group::1.kind::{op.kind.name}.block_scale.scale_vec::{op.kind.factors}X"
    with lowering.issuing() as elected:
        for block in range(rows // TENSOR_LANES):
            accumulator = _plus(lowering, op.accumulator, block * columns)
            for step in range(lhs.steps):
                record, first_factor = divmod(step * op.kind.factors, ATOM_FACTORS)
                lowering.b.execute(
                    f"{text} [$1], $2, $3, $4, [$5], [$6], $7;",
                    (),
                    elected,
                    accumulator,
                    moved(lowering, lhs_start, lhs.row_offset(block * TENSOR_LANES) + lhs.step_offset(step)),
                    moved(lowering, rhs_start, rhs.step_offset(step)),
                    instructions[first_factor],
                    _plus(lowering, op.lhs_scale, _scale_layout(op.lhs_scale.type).atom_column(block, record)),
                    _plus(lowering, op.rhs_scale, _scale_layout(op.rhs_scale.type).atom_column(0, record)),
                    lowering.scalar(op.accumulate) if step == 0 else always,
                )


def _instruction_descriptors(
    lowering: Lowering, op: Tcgen05MmaScaledOp, lhs: MatrixOperand, rhs: MatrixOperand
) -> dict[int, ir.Value]:
    """The instruction descriptors by their first factor; successive steps along K use all factors of a word."""
    element, scale = spell(op.lhs.type.element), spell(op.lhs_scale.type.element)
    columns, found = op.accumulator.type.shape[1], {}
    for step in range(min(lhs.steps, ATOM_FACTORS // op.kind.factors)):
        first = step * op.kind.factors
        bits = instruction_descriptor(element, scale, columns, first, not lhs.is_k_major, not rhs.is_k_major)
        found[first] = lowering.b.compute(f"mov.b32 $0, 0x{bits:08x};", lowering.b.i32)
    return found


def _plus(lowering: Lowering, buffer: ir.Value, columns: int) -> ir.Value:
    return lowering.compute("add.s32 $0, $1, $2;", "i32", lowering.scalar(buffer), columns)
