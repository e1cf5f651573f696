"""extract and insert: a sub-tile of a register tile, at constant indices or at indices known at run time."""

from __future__ import annotations

import itertools
import math

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import ExtractOp, InsertOp
from tilec.lowering.gpu_to_ptx.arithmetic.arith import choose
from tilec.lowering.gpu_to_ptx.memory.shared_access import ScratchTile
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction
from tilec.lowering.gpu_to_ptx.registers.linear_index import is_odd
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.layout.blocks import extracted_registers, inserted_registers
from tilec.lowering.layout.linear_layout import LinearLayout

Position = tuple[int, ...]


@lowers(ExtractOp)
def extract(lowering: Lowering, operation: ir.Operation) -> None:
    """Selects registers if no element moves between threads, else stores the whole tile and loads the part."""
    result, operand = operation.results[0], operation.operands[0]
    source, layout = layout_of(operand.type), layout_of(result.type)
    # A scalar is a part of one element.
    part = layout if layout.shape else layout.reshape((1,) * len(source.shape))
    registers, kind = lowering.get(operand), element(result)
    indices = [lowering.scalar(index) for index in list(operation.operands)[1:]]
    made: list[ir.Value] | None = registers[:1] * layout.register_count
    if source.size > 1:
        made = _selected(lowering, kind, registers, source, part, indices)
    if made is None:
        tile = ScratchTile.reserve(lowering, kind, source.shape)
        tile.write(source, registers)
        lowering.barrier()
        made = _part_at(tile, part, indices).read(part)
    lowering.set(result, made)


def _selected(
    lowering: Lowering,
    kind: PtxElement,
    registers: list[ir.Value],
    source: LinearLayout,
    part: LinearLayout,
    indices: list[ir.Value],
) -> list[ir.Value] | None:
    """The registers of the part, by a tree of selects over the bits of each index that is known at run time.

    None if an element moves between threads.
    """
    candidates = []
    for position in _positions(lowering, source, part, indices):
        own = extracted_registers(source, part, position)
        if own is None:
            return None
        candidates.append([registers[register] for register in own])
    for index, count in reversed(list(zip(indices, _counts(source, part), strict=True))):
        # The lowest bit of the last index selects between adjacent candidates.
        for bit in range(0 if lowering.number(index) is not None else count.bit_length() - 1):
            is_set = is_odd(lowering, 1 << bit, index)
            pairs = zip(candidates[1::2], candidates[0::2], strict=True)
            candidates = [[choose(lowering, kind, is_set, a, b) for a, b in zip(*pair, strict=True)] for pair in pairs]
    return candidates[0]


@lowers(InsertOp)
def insert(lowering: Lowering, operation: ir.Operation) -> None:
    """Selects registers if no element moves between threads, else exchanges through shared memory."""
    part, whole = (layout_of(operand.type) for operand in list(operation.operands)[:2])
    source, destination = (lowering.get(operand) for operand in list(operation.operands)[:2])
    indices = [lowering.scalar(index) for index in list(operation.operands)[2:]]
    kind, own = element(operation.results[0]), inserted_registers(whole, part)
    if own is None:
        tile = ScratchTile.reserve(lowering, kind, whole.shape)
        tile.write(whole, destination)
        # Other threads have written the elements that the part replaces.
        lowering.barrier()
        lowering.scratch_slots.overwrite()
        _part_at(tile, part, indices).write(part, source)
        lowering.barrier()
        made = tile.read(whole)
    else:
        here = {p: _is_at(lowering, p, indices) for p in _positions(lowering, whole, part, indices)}
        made = list(destination)
        for at, (position, register) in enumerate(own):
            if position in here:
                condition, new = here[position], source[register]
                made[at] = new if condition is None else choose(lowering, kind, condition, new, made[at])
    lowering.set(operation.results[0], made)


def _is_at(lowering: Lowering, position: Position, indices: list[ir.Value]) -> ir.Value | None:
    """Whether the indices known at run time are those of a position; None if there are no such indices."""
    equal: ir.Value | None = None
    for index, expected in zip(indices, position, strict=True):
        if lowering.number(index) is None:
            this = lowering.compute(f"setp.eq.s32 $0, $1, {expected};", "i1", index)
            equal = conjunction(lowering, equal, this)
    return equal


def _part_at(tile: ScratchTile, part: LinearLayout, indices: list[ir.Value]) -> ScratchTile:
    """The part of a tile at these indices of the grid of parts."""
    base = tile.base
    for dimension, (index, extent) in enumerate(zip(indices, part.shape, strict=True)):
        step = tile.kind.bytes * extent * math.prod(tile.shape[dimension + 1 :])
        base = base.plus_product(tile.lowering, index, step)
    return tile.part(base, part.shape)


def _positions(lowering: Lowering, whole: LinearLayout, part: LinearLayout, indices: list[ir.Value]) -> list[Position]:
    """The positions in the grid of parts that the indices may have, in row-major order."""
    numbers = map(lowering.number, indices)
    counts = _counts(whole, part)
    known = [range(count) if number is None else (number,) for number, count in zip(numbers, counts, strict=True)]
    return list(itertools.product(*known))


def _counts(whole: LinearLayout, part: LinearLayout) -> list[int]:
    return [a // b for a, b in zip(whole.shape, part.shape, strict=True)]
