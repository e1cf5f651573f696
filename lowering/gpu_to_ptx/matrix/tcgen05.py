"""tcgen05.mma: matrix multiply-accumulate into tensor memory (PTX ISA 9.7.16.10)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix import Tcgen05MmaOp
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.element_types import element_type
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR, shared_layout, tensor_layout
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import MatrixOperand, descriptor, moved, operand_format
from tilec.lowering.layout.tensor_layout import CELL_BYTES
from tilec.lowering.matrix_unit import STEP_BYTES, TCGEN05_DESCRIPTOR
from tilec.lowering.target import TENSOR_LANES

# PTX ISA 9.7.16.4.2: formats of A and B within their kind, and formats of D.
_INPUTS = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "u8": 0, "s8": 1}
_ACCUMULATORS = {"f16": 0, "f32": 1, "i32": 2}


def instruction_descriptor(
    formats: tuple[str, str], accumulator: str, rows: int, columns: int, lhs_mn_major: bool, rhs_mn_major: bool
) -> int:
    """The instruction descriptor of operands of these formats (PTX ISA 9.7.16.4.2); sums of integers wrap."""
    lhs, rhs = formats
    return (
        _ACCUMULATORS[accumulator] << 4
        | _INPUTS[lhs] << 7
        | _INPUTS[rhs] << 10
        | int(lhs_mn_major) << 15
        | int(rhs_mn_major) << 16
        | columns >> 3 << 17
        | rows >> 4 << 24
    )


class SharedLeft:
    """Operand A in shared memory: a descriptor for each block of rows and step along K."""

    text = "$2"

    def __init__(self, lowering: Lowering, buffer: ir.Value) -> None:
        self._lowering = lowering
        self._buffer = buffer
        self._operand = MatrixOperand(shared_layout(buffer.type), 1)
        self._block_rows = min(buffer.type.shape[0], TENSOR_LANES)

    @property
    def is_k_major(self) -> bool:
        return self._operand.is_k_major

    def start(self) -> ir.Value:
        """The descriptor of the first block and step."""
        return descriptor(self._lowering, self._lowering.scalar(self._buffer), self._operand, TCGEN05_DESCRIPTOR)

    def at(self, start: ir.Value, block: int, step: int) -> ir.Value:
        """The descriptor of a block of rows and a step along K."""
        offset = self._operand.row_offset(block * self._block_rows) + self._operand.step_offset(step)
        return moved(self._lowering, start, offset)


class TensorLeft:
    """Operand A in tensor memory: an address for each block of rows and step along K (PTX ISA 9.7.16.10.5)."""

    text = "[$2]"
    is_k_major = True

    def __init__(self, lowering: Lowering, buffer: ir.Value) -> None:
        self._lowering = lowering
        self._buffer = buffer
        self._block_columns = tensor_layout(buffer.type).block_columns

    def start(self) -> ir.Value:
        """The address of the first block and step."""
        return self._lowering.scalar(self._buffer)

    def at(self, start: ir.Value, block: int, step: int) -> ir.Value:
        """The address of a block of rows and a step along K."""
        column = block * self._block_columns + step * STEP_BYTES // CELL_BYTES
        return self._lowering.compute("add.s32 $0, $1, $2;", "i32", start, column) if column else start


def _steps(op: Tcgen05MmaOp, steps: int) -> range:
    """The steps along K that are multiplied, of all."""
    if op.first is None or op.depth is None:
        return range(steps)
    step = op.lhs.type.shape[1] // steps
    return range(op.first // step, (op.first + op.depth) // step)


@lowers(Tcgen05MmaOp)
def _mma(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05MmaOp = operation.opview
    b, buffer = lowering.b, op.accumulator.type
    rows, columns = buffer.shape
    lhs = (TensorLeft if op.lhs.type.memory == TENSOR else SharedLeft)(lowering, op.lhs)
    rhs = MatrixOperand(shared_layout(op.rhs.type), 0)
    block_rows = min(rows, TENSOR_LANES)
    formats = operand_format(op.kind, op.lhs_unsigned), operand_format(op.kind, op.rhs_unsigned)
    ctas = CTAS_OF_A_PAIR if op.pair else 1
    bits = instruction_descriptor(
        formats, str(buffer.element), ctas * block_rows, columns, not lhs.is_k_major, not rhs.is_k_major
    )
    instruction = b.compute(f"mov.b32 $0, 0x{bits:08x};", b.i32)
    lhs_start = lhs.start()
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    kind = element_type(op.kind).mma_kind
    always = b.compute("setp.eq.b32 $0, 0, 0;", b.i1)
    steps = _steps(op, rhs.steps)
    with lowering.issuing(leads_pair=op.pair) as elected:
        for block in range(rows // block_rows):
            start = lowering.scalar(op.accumulator)
            accumulator = lowering.compute("add.s32 $0, $1, $2;", "i32", start, block * columns)
            for step in steps:
                operands = lhs.at(lhs_start, block, step), moved(lowering, rhs_start, rhs.step_offset(step))
                accumulate = lowering.scalar(op.accumulate) if step == steps[0] else always
                text = f"@$0 tcgen05.mma.{lowering.cta_group}.kind::{kind} [$1], {lhs.text}, $3, $4, $5;"
                b.execute(text, (), elected, accumulator, *operands, instruction, accumulate)
