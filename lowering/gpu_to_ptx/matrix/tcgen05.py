"""tcgen05.mma: multiply-accumulate into tensor memory, also with block scaling or a sparse lhs (PTX ISA 9.7.16.10).

The copies of scale factors and metadata are those of PTX ISA 9.7.16.9.2, 9.7.16.10.7 and 9.7.16.10.8.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.matrix_rules import LANES_OF_WORD, MAXIMUM_SHIFTS, rhs_kind
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp, Tcgen05MmaSparseOp
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05CopyScalesOp, Tcgen05MmaScaledOp
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.element_types import element_type
from tilec.lowering.gpu.ir.multiplies_of_one_lhs import multiplies_of_one_lhs
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR, shared_layout, tensor_layout
from tilec.lowering.gpu_to_ptx.registers.literals import braced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers, named_location
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import MatrixOperand, descriptor, moved, operand_format
from tilec.lowering.layout.scale_layout import ATOM_FACTORS, MetadataLayout, ScaleLayout, parse_scale_layout
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.layout.tensor_layout import CELL_BYTES
from tilec.lowering.matrix_unit import STEP_BYTES, TCGEN05_DESCRIPTOR
from tilec.lowering.target import TENSOR_LANES

# PTX ISA 9.7.16.4.2: formats of A and B within their kind, and formats of D.
_INPUTS = {
    "f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1,
}  # fmt: skip
_ACCUMULATORS = {"f16": 0, "f32": 1, "i32": 2}
# The same in kinds mxf8f6f4 and mxf4nvf4, and those of the scale factors.
_SCALED_INPUTS = {"f8E4M3FN": 0, "f8E5M2": 1, "f4E2M1FN": 1}
_SCALES = {"f8E4M3FN": 0, "f8E8M0FNU": 1}
# An atom of scale factors is 32 rows of 16 bytes without swizzle, as tcgen05.cp.32x128b reads them.
_ATOM = MatrixOperand(SharedLayout((32, 16), 1, 1), 1)
# An atom of metadata is 128 rows of 16 bytes, as tcgen05.cp.128x128b reads them.
_WORDS = MatrixOperand(SharedLayout((128, 16), 1, 1), 1)
# The bit of the instruction descriptor for a sparse lhs (PTX ISA 9.7.16.4.2).
_SPARSE = 1 << 2
# The bit that negates A, of floats (PTX ISA 9.7.16.4.2).
_NEGATED = 1 << 13
# PTX ISA 9.7.16.4.3: the place of a shift in the upper word of a mask.
_SHIFT_OF_MASK = 24
# The words with a bit for each lane of a CTA.
_LANE_WORDS = TENSOR_LANES // LANES_OF_WORD
# PTX ISA 9.7.16.10.9.3: the buffers that keep operand B of tcgen05.mma.ws, one for each step along K.
_COLLECTORS = 4


def instruction_descriptor(
    formats: tuple[str, str], accumulator: str, rows: int, columns: int, lhs_mn_major: bool, rhs_mn_major: bool
) -> int:
    """The instruction descriptor of operands of these formats (PTX ISA 9.7.16.4.2); sums of integers wrap."""
    lhs, rhs = (_INPUTS[format] for format in formats)
    operands = _operand_bits(lhs, rhs, columns, lhs_mn_major, rhs_mn_major)
    return operands | _ACCUMULATORS[accumulator] << 4 | rows >> 4 << 24


def _operand_bits(lhs: int, rhs: int, columns: int, lhs_mn_major: bool, rhs_mn_major: bool) -> int:
    """The fields that the instruction descriptors of all kinds have alike."""
    return lhs << 7 | rhs << 10 | int(lhs_mn_major) << 15 | int(rhs_mn_major) << 16 | columns >> 3 << 17


def _weight_stationary_mma(lowering: Lowering, op: Tcgen05MmaOp) -> None:
    """A multiply into a transposed accumulator: A is rhs, and B lhs, of whose rows the mask selects some."""
    b, buffer = lowering.b, op.accumulator.type
    rows, columns = buffer.shape
    lhs, rhs = MatrixOperand(shared_layout(op.lhs.type), 1), MatrixOperand(shared_layout(op.rhs.type), 0)
    formats = operand_format(rhs_kind(op), op.rhs_unsigned), operand_format(op.kind, op.lhs_unsigned)
    mn_major = not rhs.is_k_major, not lhs.is_k_major
    bits = instruction_descriptor(formats, str(buffer.element), columns, rows, *mn_major)
    more_rows = op.lhs.type.shape[0] - rows
    # All multiplies of a run allow the shift of its last rows.
    maximum = sum(most < more_rows for most in MAXIMUM_SHIFTS[:-1])
    instruction = b.compute(f"mov.b32 $0, 0x{bits | maximum << 30:08x};", b.i32)
    lhs_start = descriptor(lowering, lowering.scalar(op.lhs), lhs, TCGEN05_DESCRIPTOR)
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    always = b.compute("setp.eq.b32 $0, 0, 0;", b.i1)
    mask = [lowering.scalar(word) for word in op.skipped]
    if mask or op.shifted:
        counts, fields = mask or [lowering.compute("mov.b32 $0, 0;", "i32")] * 2
        fields = lowering.compute("or.b32 $0, $1, $2;", "i32", fields, (op.shifted or 0) << _SHIFT_OF_MASK)
        mask = [lowering.compute("mov.b64 $0, {$1, $2};", "i64", counts, fields)]
    kind = element_type(op.kind).mma_kind
    operands, steps = f"[$1], $2, $3, $4, $5{', $6' if mask else ''};", _steps(op, rhs.steps)
    usage = _collector_usage(op) if more_rows and len(steps) <= _COLLECTORS else None
    with lowering.issuing() as elected:
        for number, step in enumerate(steps):
            collector = f".collector::b{number}::{usage}" if usage is not None else ""
            text = f"@$0 tcgen05.mma.ws.cta_group::1.kind::{kind}{collector} {operands}"
            first, second = (
                moved(lowering, start, side.step_offset(step)) for start, side in ((rhs_start, rhs), (lhs_start, lhs))
            )
            accumulate = lowering.scalar(op.accumulate) if step == steps[0] else always
            b.execute(text, (), elected, lowering.scalar(op.accumulator), first, second, instruction, accumulate, *mask)


def _collector_usage(op: Tcgen05MmaOp) -> str | None:
    """How a multiply uses the collectors, which keep B for adjacent multiplies of one run; None if it is alone."""
    around = [other for other in op.operation.block.operations if isinstance(other, Tcgen05MmaOp) or other.regions]
    at = next(number for number, other in enumerate(around) if other.operation == op.operation)
    before, after = (
        0 <= number < len(around) and isinstance(other := around[number], Tcgen05MmaOp) and _reads_alike(other, op)
        for number in (at - 1, at + 1)
    )
    return {(False, True): "fill", (True, True): "use", (True, False): "lastuse"}.get((before, after))


def _reads_alike(first: Tcgen05MmaOp, second: Tcgen05MmaOp) -> bool:
    """Whether two multiplies read the same columns of one lhs as operand B."""
    both = (first, second)
    read = {(op.lhs, op.first, op.depth, op.kind, op.accumulator.type.shape[0]) for op in both}
    return len(read) == 1 and all(op.accumulator.type.is_transposed for op in both)


def _steps(op: Tcgen05MmaOp, steps: int) -> range:
    """The steps along K that are multiplied, of all."""
    if op.first is None or op.depth is None:
        return range(steps)
    step = op.lhs.type.shape[1] // steps
    return range(op.first // step, (op.first + op.depth) // step)


@dataclass(frozen=True)
class _Product:
    """A multiply with the registers that its instructions read, before their steps along K."""

    op: Tcgen05MmaOp
    instruction: ir.Value
    rhs: MatrixOperand
    rhs_start: ir.Value
    skipped: list[ir.Value]


@lowers(Tcgen05MmaOp)
def _mma(lowering: Lowering, operation: ir.Operation) -> None:
    """The instructions of multiplies of one lhs, which a collector keeps for each step along K, follow the last one."""
    op: Tcgen05MmaOp = operation.opview
    if op.accumulator.type.is_transposed:
        _weight_stationary_mma(lowering, op)
        return
    multiplies = multiplies_of_one_lhs(operation)
    if operation != multiplies[-1]:
        return
    b, rows = lowering.b, op.accumulator.type.shape[0]
    # Operand A in tensor memory has addresses instead of descriptors (PTX ISA 9.7.16.10.5).
    lhs = None if op.lhs.type.memory == TENSOR else MatrixOperand.lhs(op)
    instructions = [_instruction(lowering, each.opview, lhs) for each in multiplies]
    lhs_start = lowering.scalar(op.lhs)
    if lhs is not None:
        lhs_start = descriptor(lowering, lhs_start, lhs, TCGEN05_DESCRIPTOR)
    products = [_product(lowering, *each) for each in zip(multiplies, instructions, strict=True)]
    always = b.compute("setp.eq.b32 $0, 0, 0;", b.i1)
    steps, block_rows = _steps(op, products[0].rhs.steps), min(rows, TENSOR_LANES)
    with lowering.issuing(leads_pair=op.pair) as elected:
        for block in range(rows // block_rows):
            accumulators = [
                _plus(lowering, each.op.accumulator, block * each.op.accumulator.type.shape[1]) for each in products
            ]
            for step in steps:
                if lhs is None:
                    layout = tensor_layout(op.lhs.type)
                    column = block * layout.block_columns + layout.column_of(step * STEP_BYTES // CELL_BYTES)
                    left = lowering.plus(lhs_start, column)
                else:
                    rows_before = lhs.row_offset(block * block_rows)
                    left = moved(lowering, lhs_start, rows_before + lhs.step_offset(step))
                for number, (each, accumulator) in enumerate(zip(products, accumulators, strict=True)):
                    right = moved(lowering, each.rhs_start, each.rhs.step_offset(step))
                    accumulate = lowering.scalar(each.op.accumulate) if step == steps[0] else always
                    modifiers = _usage_of_lhs(number, len(products))
                    modifiers += ".ashift" if op.ashift and step != steps[-1] else ""
                    skipped = each.skipped if op.pair else each.skipped[block * _LANE_WORDS :][:_LANE_WORDS]
                    operands = (accumulator, left, right, each.instruction, accumulate, *skipped)
                    text = _text(lowering, each.op, modifiers, is_first=step == steps[0])
                    b.location = named_location(each.op.operation)
                    b.execute(text, (), elected, *operands)


def _instruction(lowering: Lowering, op: Tcgen05MmaOp, lhs: MatrixOperand | None) -> ir.Value:
    rows, columns = op.accumulator.type.shape
    formats = operand_format(op.kind, op.lhs_unsigned), operand_format(rhs_kind(op), op.rhs_unsigned)
    mn_major = lhs is not None and not lhs.is_k_major, not MatrixOperand(shared_layout(op.rhs.type), 0).is_k_major
    ctas, element = CTAS_OF_A_PAIR if op.pair else 1, str(op.accumulator.type.element)
    bits = instruction_descriptor(formats, element, ctas * min(rows, TENSOR_LANES), columns, *mn_major)
    bits |= _NEGATED if op.negated else 0
    return lowering.b.compute(f"mov.b32 $0, 0x{bits:08x};", lowering.b.i32)


def _product(lowering: Lowering, multiply: ir.Operation, instruction: ir.Value) -> _Product:
    op: Tcgen05MmaOp = multiply.opview
    rhs = MatrixOperand(shared_layout(op.rhs.type), 0)
    start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    return _Product(op, instruction, rhs, start, [lowering.scalar(word) for word in op.skipped])


def _usage_of_lhs(number: int, count: int) -> str:
    """How one of several multiplies of a step along K uses the collector of A (PTX ISA 9.7.16.10.9)."""
    if count == 1:
        return ""
    usages = {0: "fill", count - 1: "lastuse"}
    return f".collector::a::{usages.get(number, 'use')}"


def _text(lowering: Lowering, op: Tcgen05MmaOp, modifiers: str, *, is_first: bool) -> str:
    # PTX ISA 9.7.16.10.9: disable-output-lane, and scale-input-d.
    words = len(op.skipped) if op.pair else _LANE_WORDS
    lanes = f", {braced(6, words)}" if len(op.skipped) else ""
    scale = f", {op.scale}" if op.scale is not None and is_first else ""
    kind, lhs = element_type(op.kind).mma_kind, "[$2]" if op.lhs.type.memory == TENSOR else "$2"
    return f"@$0 tcgen05.mma.{lowering.cta_group}.kind::{kind}{modifiers} [$1], {lhs}, $3, $4{lanes}, $5{scale};"


@lowers(Tcgen05MmaSparseOp)
def _sparse_mma(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05MmaSparseOp = operation.opview
    b, buffer, layout = lowering.b, op.accumulator.type, MetadataLayout(op.metadata.type.shape)
    rows, columns = buffer.shape
    lhs, rhs = MatrixOperand(shared_layout(op.lhs.type), 1), MatrixOperand(shared_layout(op.rhs.type), 0)
    formats = operand_format(op.kind, op.lhs_unsigned), operand_format(op.kind, op.rhs_unsigned)
    mn_major = not lhs.is_k_major, not rhs.is_k_major
    bits = _SPARSE | instruction_descriptor(formats, str(buffer.element), TENSOR_LANES, columns, *mn_major)
    words = layout.shape[1] // lhs.steps
    # Of one word the selector says which of two columns has it (PTX ISA 9.7.16.10.8.1).
    instructions = [b.compute(f"mov.b32 $0, 0x{bits | selector:08x};", b.i32) for selector in range(2 // words)]
    lhs_start = descriptor(lowering, lowering.scalar(op.lhs), lhs, TCGEN05_DESCRIPTOR)
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    always = b.compute("setp.eq.b32 $0, 0, 0;", b.i1)
    kind = element_type(op.kind).mma_kind
    with lowering.issuing() as elected:
        for block in range(rows // TENSOR_LANES):
            for step in range(lhs.steps):
                column = layout.column(block, step * words)
                b.execute(
                    f"@$0 tcgen05.mma.sp.cta_group::1.kind::{kind} [$1], $2, $3, [$4], $5, $6;",
                    (),
                    elected,
                    _plus(lowering, op.accumulator, block * columns),
                    moved(lowering, lhs_start, lhs.row_offset(block * TENSOR_LANES) + lhs.step_offset(step)),
                    # K of the instruction is two steps of rhs.
                    moved(lowering, rhs_start, rhs.step_offset(2 * step)),
                    _plus(lowering, op.metadata, column - column % 2),
                    instructions[column % len(instructions)],
                    lowering.scalar(op.accumulate) if step == 0 else always,
                )


def _scale_layout(buffer: BufferType) -> ScaleLayout:
    return parse_scale_layout(buffer.layout, buffer.shape)


@lowers(Tcgen05CopyScalesOp)
def _copy(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05CopyScalesOp = operation.opview
    layout, column = _scale_layout(op.source.type), lowering.scalar(op.destination)
    atom, form = (_WORDS, "128x128b") if isinstance(layout, MetadataLayout) else (_ATOM, "32x128b.warpx4")
    start = descriptor(lowering, lowering.scalar(op.source), atom, TCGEN05_DESCRIPTOR)
    with lowering.issuing(leads_pair=op.pair) as elected:
        for group in range(layout.row_groups):
            for record in range(layout.records):
                source = moved(lowering, start, layout.atom_offset(group, record))
                to = lowering.compute("add.s32 $0, $1, $2;", "i32", column, layout.atom_column(group, record))
                lowering.b.execute(f"@$0 tcgen05.cp.{lowering.cta_group}.{form} [$1], $2;", (), elected, to, source)


@lowers(Tcgen05MmaScaledOp)
def _scaled_mma(lowering: Lowering, operation: ir.Operation) -> None:
    op: Tcgen05MmaScaledOp = operation.opview
    rows, columns = op.accumulator.type.shape
    lhs, rhs = MatrixOperand(shared_layout(op.lhs.type), 1), MatrixOperand(shared_layout(op.rhs.type), 0)
    lhs_start = descriptor(lowering, lowering.scalar(op.lhs), lhs, TCGEN05_DESCRIPTOR)
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, TCGEN05_DESCRIPTOR)
    instructions = _instruction_descriptors(lowering, op, lhs, rhs)
    always = lowering.b.compute("setp.eq.b32 $0, 0, 0;", lowering.b.i1)
    text = f"@$0 tcgen05.mma.{lowering.cta_group}.kind::{op.kind.name}.block_scale.scale_vec::{op.kind.factors}X"
    with lowering.issuing(leads_pair=op.pair) as elected:
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
    """The instruction descriptors for 128 rows of each CTA by their first factor (PTX ISA 9.7.16.4.2).

    The first factor is the byte in each word of tensor memory that has the first scale factor along K. Successive steps
    along K use all factors of a word.
    """
    left, right = _scaled_format(op.lhs, op.lhs_kind), _scaled_format(op.rhs, op.rhs_kind)
    scale, rows = _SCALES[spell(op.lhs_scale.type.element)], TENSOR_LANES * (CTAS_OF_A_PAIR if op.pair else 1)
    operands = _operand_bits(left, right, op.accumulator.type.shape[1], not lhs.is_k_major, not rhs.is_k_major)
    found = {}
    for step in range(min(lhs.steps, ATOM_FACTORS // op.kind.factors)):
        first = step * op.kind.factors
        bits = operands | first << 4 | scale << 23 | rows >> 7 << 27 | first << 29
        found[first] = lowering.b.compute(f"mov.b32 $0, 0x{bits:08x};", lowering.b.i32)
    return found


def _scaled_format(operand: ir.Value, kind: str | None) -> int:
    """The format of an operand; packed ones have a kind."""
    return _SCALED_INPUTS[spell(operand.type.element)] if kind is None else _INPUTS[operand_format(kind, False)]


def _plus(lowering: Lowering, buffer: ir.Value, columns: int) -> ir.Value:
    return lowering.compute("add.s32 $0, $1, $2;", "i32", lowering.scalar(buffer), columns)
