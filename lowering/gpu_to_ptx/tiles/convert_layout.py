"""Layout conversion by the cheapest strategy: register renaming, shuffles, or shared memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp
from tilec.lowering.gpu_to_ptx.arithmetic.arith import choose
from tilec.lowering.gpu_to_ptx.memory.shared_access import tile_access, write
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.linear_index import is_odd, linear_index
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.shared_address import SharedAddress
from tilec.lowering.gpu_to_ptx.registers.shuffle import from_lane, from_lane_xor
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.conversion import RegisterMove, Shuffle, chunks, conversion, scratch_matrix
from tilec.lowering.layout.linear_layout import LinearLayout


@lowers(ConvertLayoutOp)
def convert_layout(lowering: Lowering, operation: ir.Operation) -> None:
    result, operand = operation.results[0], operation.operands[0]
    source, target = layout_of(operand.type), layout_of(result.type)
    lowering.set(result, converted(lowering, element(result), lowering.get(operand), source, target))


def converted(
    lowering: Lowering, kind: PtxElement, registers: list[ir.Value], source: LinearLayout, target: LinearLayout
) -> list[ir.Value]:
    """The registers of a tile in the target layout."""
    strategy = conversion(source, target)
    if isinstance(strategy, RegisterMove):
        return [registers[r] for r in strategy.sources]
    if isinstance(strategy, Shuffle):
        return _shuffled(lowering, kind, registers, strategy)
    return _through_shared(lowering, kind, registers, source, target)


def _shuffled(lowering: Lowering, kind: PtxElement, registers: list[ir.Value], strategy: Shuffle) -> list[ir.Value]:
    """One shuffle per register, or two and a select if the source register depends on the receiving lane."""
    low = _received(lowering, kind, [registers[r] for r in strategy.sources], strategy)
    step = next((column for column in strategy.selected.columns if column), 0)
    if not step:
        return low
    high = _received(lowering, kind, [registers[r ^ step] for r in strategy.sources], strategy)
    lanes = sum(1 << bit for bit, column in enumerate(strategy.selected.columns) if column)
    takes_high = is_odd(lowering, lanes, lowering.lane)
    return [choose(lowering, kind, takes_high, b, a) for a, b in zip(low, high, strict=True)]


def _received(lowering: Lowering, kind: PtxElement, wanted: list[ir.Value], strategy: Shuffle) -> list[ir.Value]:
    """wanted[r] from lane strategy.lane(lane) ^ strategy.flips[r], grouped by flip."""
    by_flip: dict[int, list[int]] = {}
    for register, flip in enumerate(strategy.flips):
        by_flip.setdefault(flip, []).append(register)
    received = list(wanted)
    for flip, members in by_flip.items():
        moved = _from_lane(lowering, kind, [wanted[r] for r in members], strategy.lane, flip)
        for register, value in zip(members, moved, strict=True):
            received[register] = value
    return received


def _from_lane(
    lowering: Lowering, kind: PtxElement, wanted: list[ir.Value], lane: BitMatrix, flip: int
) -> list[ir.Value]:
    if lane == BitMatrix.identity(len(lane.columns)):
        return from_lane_xor(lowering, kind, wanted, flip) if flip else wanted
    reads = linear_index(lowering, lane, lowering.lane) or lowering.compute("mov.b32 $0, 0;", "i32")
    if flip:
        reads = lowering.compute(f"xor.b32 $0, $1, {flip};", "i32", reads)
    return from_lane(lowering, kind, wanted, reads)


def _through_shared(
    lowering: Lowering, kind: PtxElement, registers: list[ir.Value], source: LinearLayout, target: LinearLayout
) -> list[ir.Value]:
    plan = chunks(source, target, lowering.exchange_bytes // kind.bytes)
    offsets = scratch_matrix(plan.source, plan.target, kind.bytes)
    values: dict[int, ir.Value] = {}
    for chunk in range(plan.count):
        written = [r for r in plan.source_registers[chunk] if not r & source.free_register_mask]
        base = SharedAddress(lowering.writable_scratch(1 << offsets.rows))
        write(lowering, kind, base, plan.source, registers, offsets, written)
        lowering.barrier()
        access = tile_access(lowering, kind, base, plan.target, offsets)
        values |= access.load(plan.target.register_count, plan.target_registers[chunk])
    return [values[register] for register in range(target.register_count)]
