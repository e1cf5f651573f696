"""wgmma: matrix multiply-accumulate of a warpgroup into registers (PTX ISA 9.7.15)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix_rules import rhs_kind
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.element_types import element_type
from tilec.lowering.gpu_to_ptx.matrix.wgmma_operands import (
    Sides,
    block_rows,
    columns_of_group,
    lhs_registers,
    lhs_side,
    metadata_registers,
    rhs_side,
)
from tilec.lowering.gpu_to_ptx.memory.fences import SCHEDULE_BARRIER
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.matrix_descriptor import operand_format
from tilec.lowering.layout.linear_layout import parse_layout
from tilec.lowering.layout.wgmma import wgmma_accumulator
from tilec.lowering.matrix_unit import PROMOTED_ELEMENTS

# Columns of sums in registers beside the accumulator, by the most registers of the accumulator and warps of the role:
# more columns use the unit better, but ptxas 13.5 then spills 280 bytes of a tile of 128x256.
_SMALL_ACCUMULATOR_REGISTERS, _FEW_WARPS = 64, 8
_PROMOTED_COLUMNS, _FEWER_PROMOTED_COLUMNS = 128, 64
_FENCE = "wgmma.fence.sync.aligned;"
_COMMIT = "wgmma.commit_group.sync.aligned;"


@lowers(WgmmaOp)
def _wgmma(lowering: Lowering, operation: ir.Operation) -> None:
    op: WgmmaOp = operation.opview
    tile = op.accumulator.type
    if parse_layout(tile.encoding.value) != wgmma_accumulator(tile.shape, lowering.warps):
        raise lowering.unsupported(
            operation, f"expected an accumulator in the layout of wgmma, but got {tile.encoding.value}"
        )
    cells = _packed(lowering, lowering.get(op.accumulator), str(tile.element_type))
    registers, metadata = lhs_registers(lowering, op), metadata_registers(lowering, op)
    if not op.promote:
        cells = _fenced(lowering, cells)
    sides = Sides(lhs_side(lowering, op, registers), rhs_side(lowering, op), metadata)
    blocks = max(1, tile.shape[0] // block_rows(lowering))
    size = len(cells) // blocks
    factors = [lowering.get(factor) for factor in op.factors]
    done: list[ir.Value] = []
    for block in range(blocks):
        part, side = slice(block * size, (block + 1) * size), sides.block(lowering, block, blocks)
        if block and factors:
            # ptxas 13.5 starts sums of the second block while those of the first are multiplied, and spills 304 bytes.
            lowering.b.execute(SCHEDULE_BARRIER)
        if op.promote:
            done += _promoted(lowering, op, cells[part], side, [factor[part] for factor in factors])
        else:
            done += _accumulated(lowering, op, cells[part], side)
    if not op.promote:
        lowering.b.execute(_COMMIT)
        lowering.in_flight[operation.results[0]] = done
    lowering.set(operation.results[0], _unpacked(lowering, done, str(tile.element_type)))


def _accumulated(lowering: Lowering, op: WgmmaOp, cells: list[ir.Value], sides: Sides) -> list[ir.Value]:
    """Adds all steps along K to the accumulator of a block of rows."""
    columns = columns_of_group(lowering, op)
    for step in range(sides.steps):
        cells = _issue(lowering, op, columns, cells, sides, step)
    return cells


def _promoted(
    lowering: Lowering, op: WgmmaOp, cells: list[ir.Value], sides: Sides, factors: list[list[ir.Value]]
) -> list[ir.Value]:
    """Adds sums to the accumulator of a block of rows: of PROMOTED_ELEMENTS products, or all products times factors.

    All products of 8-bit floats are the sum in f32 of such sums.
    """
    columns = columns_of_group(lowering, op)
    is_small = len(lowering.get(op.accumulator)) <= _SMALL_ACCUMULATOR_REGISTERS and lowering.warps <= _FEW_WARPS
    size = min(columns, _PROMOTED_COLUMNS if is_small else _FEWER_PROMOTED_COLUMNS)
    is_short = element_type(op.kind).mma_kind == "f8f6f4"
    steps = PROMOTED_ELEMENTS // sides.step_elements if is_short else sides.steps
    done: list[ir.Value] = []
    for column in range(0, columns, size):
        registers = slice(column // 2, (column + size) // 2)
        own, part = cells[registers], sides.from_column(lowering, column)
        summed = [lowering.constant(ELEMENTS["f32"], 0.0)] * len(own) if is_short and factors else own
        for first in range(0, sides.steps, steps):
            short = _short_sum(lowering, op, size, part, range(first, min(first + steps, sides.steps)))
            summed = _added(lowering, summed, short, []) if is_short else short
        done += _added(lowering, own, summed, [factor[registers] for factor in factors]) if factors else summed
    return done


def _added(
    lowering: Lowering, cells: list[ir.Value], summed: list[ir.Value], factors: list[list[ir.Value]]
) -> list[ir.Value]:
    """Adds sums, times factors, to registers of the accumulator."""
    for factor in factors[:-1]:
        summed = [lowering.compute("mul.rn.f32 $0, $1, $2;", "f32", *pair) for pair in zip(summed, factor, strict=True)]
    if factors:
        terms = zip(summed, factors[-1], cells, strict=True)
        return [lowering.compute("fma.rn.f32 $0, $1, $2, $3;", "f32", *term) for term in terms]
    return [lowering.compute("add.f32 $0, $1, $2;", "f32", *pair) for pair in zip(cells, summed, strict=True)]


def _short_sum(lowering: Lowering, op: WgmmaOp, columns: int, sides: Sides, steps: range) -> list[ir.Value]:
    """The complete sum of some steps along K."""
    lowering.b.execute(_FENCE)
    cells: list[ir.Value] = []
    for step in steps:
        cells = _issue(lowering, op, columns, cells, sides, step)
    lowering.b.execute(_COMMIT)
    return _waited(lowering, cells, 0)


def _fenced(lowering: Lowering, cells: list[ir.Value]) -> list[ir.Value]:
    """Fences the accumulator registers, which other instructions wrote (PTX ISA 9.7.15.7.1).

    The registers are tied to the fence, which keeps their copies before it: ptxas 13.5 waits for the multiplies in
    flight (C7517) if a copy is between those of two blocks of rows.
    """
    return list(lowering.b.execute(_FENCE, [c.type for c in cells], *cells, tied=range(len(cells))))


def _issue(
    lowering: Lowering, op: WgmmaOp, columns: int, cells: list[ir.Value], sides: Sides, step: int
) -> list[ir.Value]:
    """One instruction, which adds to `cells`, or starts a sum in f32 if there are none."""
    accumulator = str(op.accumulator.type.element_type)
    formats = operand_format(op.kind, op.lhs_unsigned), operand_format(rhs_kind(op), op.rhs_unsigned)
    types = ".".join((ELEMENTS[accumulator].suffix, *formats))
    results = [cell.type for cell in cells] or [lowering.b.f32] * (columns // 2)
    lhs, rhs = sides.lhs.step(lowering, step), sides.rhs.step(lowering, step * sides.rhs_steps)
    # Operands are numbered: results, tied accumulators, lhs, rhs, metadata.
    first = len(results) + len(cells)
    form, sparse, metadata = "", "", sides.metadata_of(step)
    if metadata:
        form, sparse = ".sp", f"${first + len(lhs) + 1}, {sides.selector(step)}, "
    text = (
        f"wgmma.mma_async{form}.sync.aligned.m64n{columns}k{sides.rhs_steps * sides.step_elements}.{types} "
        f"{{{operands(len(results))}}}, {sides.lhs.spell(first)}, {sides.rhs.spell(first + len(lhs))}, {sparse}"
        f"{int(bool(cells))}{_immediates(op, sides)};"
    )
    inputs = [*cells, *lhs, *rhs, *metadata]
    return list(lowering.b.execute(text, results, *inputs, tied=range(len(cells)) if cells else None))


def _immediates(op: WgmmaOp, sides: Sides) -> str:
    """The scales of both operands, which integers lack, and the transpositions, which only 16-bit types have."""
    if op.kind == "i8":
        return ""
    scales = f", {-1 if op.negated else 1}, 1"
    if element_type(op.kind).storage_bits != 16:
        return scales
    return f"{scales}, {', '.join(map(str, sides.transposes))}"


@lowers(WgmmaWaitOp)
def _wait(lowering: Lowering, operation: ir.Operation) -> None:
    pending = ir.IntegerAttr(operation.attributes["pending"]).value
    source, result = operation.operands[0], operation.results[0]
    element = str(source.type.element_type)
    cells = lowering.in_flight.pop(source, None) or _packed(lowering, lowering.get(source), element)
    lowering.set(result, _unpacked(lowering, _waited(lowering, cells, pending), element))


def _waited(lowering: Lowering, cells: list[ir.Value], pending: int) -> list[ir.Value]:
    """The registers once at most `pending` newer groups are in flight."""
    text = f"wgmma.wait_group.sync.aligned {pending};"
    return list(lowering.b.execute(text, [cell.type for cell in cells], *cells, tied=range(len(cells))))


def _packed(lowering: Lowering, registers: list[ir.Value], element: str) -> list[ir.Value]:
    """Packs pairs of neighbouring f16 columns into one register."""
    if element != "f16":
        return registers
    return [
        lowering.b.compute("mov.b32 $0, {$1, $2};", lowering.b.i32, registers[first], registers[first + 1])
        for first in range(0, len(registers), 2)
    ]


def _unpacked(lowering: Lowering, cells: list[ir.Value], element: str) -> list[ir.Value]:
    if element != "f16":
        return cells
    halves: list[ir.Value] = []
    for cell in cells:
        halves += lowering.b.compute("mov.b32 {$0, $1}, $2;", [lowering.b.i16, lowering.b.i16], cell)
    return halves
