"""wgmma: matrix multiply-accumulate of a warpgroup into registers (PTX ISA 9.7.15)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.matrix import WgmmaOp
from tilec.lowering.gpu.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.matrix_descriptor import MatrixOperand, descriptor, moved
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.layout.wgmma import wgmma_accumulator
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP, WGMMA_DESCRIPTOR

ROWS = 64


@lowers("tile_gpu.wgmma")
def _wgmma(lowering: Lowering, operation: ir.Operation) -> None:
    op: WgmmaOp = operation.opview
    tile = op.accumulator.type
    if parse_layout(tile.encoding.value) != wgmma_accumulator(tile.shape, lowering.warps):
        raise lowering.unsupported(
            operation, f"expected an accumulator in the layout of wgmma, but got {tile.encoding.value}"
        )
    lhs, rhs = MatrixOperand(shared_layout(op.lhs.type), 1), MatrixOperand(shared_layout(op.rhs.type), 0)
    cells = _fenced(lowering, _packed(lowering, lowering.get(op.accumulator), str(tile.element_type)))
    blocks = tile.shape[0] // (ROWS * (lowering.warps // WARPS_OF_A_GROUP))
    size = len(cells) // blocks
    lhs_start = _group_start(lowering, descriptor(lowering, lowering.scalar(op.lhs), lhs, WGMMA_DESCRIPTOR), lhs)
    rhs_start = descriptor(lowering, lowering.scalar(op.rhs), rhs, WGMMA_DESCRIPTOR)
    done: list[ir.Value] = []
    for block in range(blocks):
        start = moved(lowering, lhs_start, lhs.row_offset(block * ROWS * (lowering.warps // WARPS_OF_A_GROUP)))
        own = cells[block * size : (block + 1) * size]
        for step in range(lhs.steps):
            descriptors = (
                moved(lowering, start, lhs.step_offset(step)),
                moved(lowering, rhs_start, rhs.step_offset(step)),
            )
            own = _issue(lowering, op, own, descriptors, lhs, rhs)
        done += own
    lowering.b.execute("wgmma.commit_group.sync.aligned;")
    lowering.set(operation.results[0], _unpacked(lowering, done, str(tile.element_type)))
    lowering.in_flight[operation.results[0]] = done


def _fenced(lowering: Lowering, cells: list[ir.Value]) -> list[ir.Value]:
    """Fences the accumulator registers, which other instructions wrote (PTX ISA 9.7.15.7.1).

    The registers are tied to the fence, which keeps their copies before it: ptxas 13.5 waits for the multiplies in
    flight (C7517) if a copy is between those of two blocks of rows.
    """
    made = lowering.b.execute(
        "wgmma.fence.sync.aligned;", [c.type for c in cells], *cells, tied=list(range(len(cells)))
    )
    return list(made) if isinstance(made, tuple) else [made]


def _group_start(lowering: Lowering, start: ir.Value, lhs: MatrixOperand) -> ir.Value:
    """Offsets the descriptor to the 64 rows of the warpgroup."""
    if lowering.warps == WARPS_OF_A_GROUP:
        return start
    b = lowering.b
    group = b.compute("shr.u32 $0, $1, 2;", b.i32, lowering.warp)
    offset = b.compute(f"mul.lo.u32 $0, $1, {lhs.row_offset(ROWS) >> 4};", b.i32, group)
    wide = b.compute("cvt.u64.u32 $0, $1;", b.i64, offset)
    return b.compute("add.s64 $0, $1, $2;", b.i64, start, wide)


def _issue(
    lowering: Lowering,
    op: WgmmaOp,
    cells: list[ir.Value],
    descriptors: tuple[ir.Value, ir.Value],
    lhs: MatrixOperand,
    rhs: MatrixOperand,
) -> list[ir.Value]:
    accumulator, count = str(op.accumulator.type.element_type), len(cells)
    columns = op.accumulator.type.shape[1]
    transposes = "" if op.kind == "tf32" else f", {int(not lhs.is_k_major)}, {int(not rhs.is_k_major)}"
    listed = ", ".join(f"${number}" for number in range(count))
    # Operands are numbered: results, tied accumulators, descriptors.
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{columns}k{lhs.step_elements}.{accumulator}.{op.kind}.{op.kind} "
        f"{{{listed}}}, ${2 * count}, ${2 * count + 1}, 1, 1, 1{transposes};"
    )
    made = lowering.b.execute(text, [cell.type for cell in cells], *cells, *descriptors, tied=list(range(count)))
    return list(made)


@lowers("tile_gpu.wgmma_wait")
def _wait(lowering: Lowering, operation: ir.Operation) -> None:
    pending = ir.IntegerAttr(operation.attributes["pending"]).value
    source, result = operation.operands[0], operation.results[0]
    element = str(source.type.element_type)
    cells = lowering.in_flight.pop(source, None) or _packed(lowering, lowering.get(source), element)
    text = f"wgmma.wait_group.sync.aligned {pending};"
    waited = lowering.b.execute(text, [cell.type for cell in cells], *cells, tied=list(range(len(cells))))
    lowering.set(result, _unpacked(lowering, list(waited), element))


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
