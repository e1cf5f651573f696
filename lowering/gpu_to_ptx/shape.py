"""Tiles made from scalars, and tiles relabelled: most of it moves nothing."""

from __future__ import annotations

import math

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.access import load
from tilec.lowering.gpu_to_ptx.elements import Element
from tilec.lowering.gpu_to_ptx.exchange import read, row_major, write
from tilec.lowering.gpu_to_ptx.linear_index import image_bits, linear_index, split_constant
from tilec.lowering.gpu_to_ptx.lowers import Lowering, element, layout_of
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.linear_layout import LinearLayout, flatten, unflatten


@lowers("tile_gpu.splat")
def splat(lowering: Lowering, operation: ir.Operation) -> None:
    result = operation.results[0]
    lowering.set(result, lowering.get(operation.operands[0]) * layout_of(result.type).register_count)


@lowers("tile_gpu.iota")
def iota(lowering: Lowering, operation: ir.Operation) -> None:
    result = operation.results[0]
    layout, kind = layout_of(result.type), element(result)
    thread = linear_index(lowering, layout.thread_matrix, lowering.thread)
    bits = image_bits(layout.thread_matrix)
    registers = []
    for register in range(layout.register_count):
        swizzled, added = split_constant(layout.register_matrix(register), bits)
        index = _element(lowering, thread, swizzled, added)
        if kind.register != "i32":
            index = lowering.compute(f"cvt.u{kind.register_bits}.u32 $0, $1;", kind.register, index)
        registers.append(index)
    lowering.set(result, registers)


def _element(lowering: Lowering, thread: ir.Value | None, swizzled: int, added: int) -> ir.Value:
    if thread is None:
        return lowering.compute(f"mov.b32 $0, {added};", "i32")
    if swizzled:
        thread = lowering.compute(f"xor.b32 $0, $1, {swizzled};", "i32", thread)
    return lowering.compute(f"add.s32 $0, $1, {added};", "i32", thread) if added else thread


@lowers("tile_gpu.broadcast", "tile_gpu.reshape", "tile_gpu.transpose")
def relabel(lowering: Lowering, operation: ir.Operation) -> None:
    """The layouts differ only in names: register r stays register r."""
    lowering.set(operation.results[0], lowering.get(operation.operands[0]))


@lowers("tile_gpu.cat")
def cat(lowering: Lowering, operation: ir.Operation) -> None:
    """Each register from the side that holds it where no thread needs another's; else through shared memory."""
    result, dimension = operation.results[0], operation.attributes["dimension"].value
    layout, source = layout_of(result.type), layout_of(operation.operands[0].type)
    sides = [lowering.get(operand) for operand in operation.operands]
    half = source.shape[dimension]
    if not _same_threads(source, layout):
        lowering.set(result, _cat_through_shared(lowering, element(result), sides, source, layout, dimension))
        return
    registers = []
    for register in range(layout.register_count):
        coordinates = list(layout.apply(register, 0, 0))
        side, coordinates[dimension] = divmod(coordinates[dimension], half)
        registers.append(sides[side][source.register_matrix.solve(flatten(coordinates, source.shape))])
    lowering.set(result, registers)


def _cat_through_shared(
    lowering: Lowering,
    kind: Element,
    sides: list[list[ir.Value]],
    source: LinearLayout,
    layout: LinearLayout,
    dimension: int,
) -> list[ir.Value]:
    places = row_major(layout.size, kind)
    base = lowering.writable_scratch(layout.size * kind.bytes)
    for side, registers in enumerate(sides):
        start = tuple(side * source.shape[dimension] if d == dimension else 0 for d in range(len(layout.shape)))
        first = places(flatten(start, layout.shape))
        moved = lowering.compute(f"add.s32 $0, $1, {first};", "i32", base) if first else base
        write(lowering, kind, moved, source, registers, places @ _embedded(source.shape, layout.shape), alignment=1)
    lowering.barrier()
    return list(read(lowering, kind, base, layout, places).values())


@lowers("tile_gpu.extract")
def extract(lowering: Lowering, operation: ir.Operation) -> None:
    """Registers picked where the indices are known and no thread needs another's; else through shared memory."""
    result, (operand, *indices) = operation.results[0], operation.operands
    source, layout = layout_of(operand.type), layout_of(result.type)
    shape = layout.shape if layout else (1,) * len(source.shape)
    registers, indices = lowering.get(operand), [lowering.scalar(index) for index in indices]
    if source.size == 1:
        lowering.set(result, registers[:1] * (layout.register_count if layout else 1))
        return
    known = [lowering.number(index) for index in indices]
    if layout is None or None in known or not _same_threads(layout, source):
        lowering.set(result, _extract_through_shared(lowering, element(result), registers, source, layout, indices))
        return
    start = [index * extent for index, extent in zip(known, shape, strict=True)]
    picked = []
    for register in range(layout.register_count):
        coordinates = [a ^ b for a, b in zip(start, layout.apply(register, 0, 0), strict=True)]
        picked.append(registers[source.register_matrix.solve(flatten(coordinates, source.shape))])
    lowering.set(result, picked)


def _extract_through_shared(
    lowering: Lowering,
    kind: Element,
    registers: list[ir.Value],
    source: LinearLayout,
    layout: LinearLayout | None,
    indices: list[ir.Value],
) -> list[ir.Value]:
    """The whole tile is written, the part read from where the indices say."""
    places = row_major(source.size, kind)
    base = lowering.writable_scratch(source.size * kind.bytes)
    write(lowering, kind, base, source, registers, places)
    lowering.barrier()
    shape = layout.shape if layout else (1,) * len(source.shape)
    for dimension, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        step = places(1) * extent * math.prod(source.shape[dimension + 1 :])
        base = lowering.compute(f"mad.lo.s32 $0, $1, {step}, $2;", "i32", index, base)
    if layout is None:
        return load(lowering, "shared", kind, 1, base, 0)
    return list(read(lowering, kind, base, layout, places @ _embedded(shape, source.shape), alignment=1).values())


def _same_threads(part: LinearLayout, whole: LinearLayout) -> bool:
    """Whether what a thread holds of the part it holds of the whole too, in the same registers in all threads."""
    if part.lane + part.warp != whole.lane + whole.warp:
        return False
    inside = (flatten(basis, whole.shape) for basis in part.register)
    return all(whole.register_matrix.solve(index) is not None for index in inside)


def _embedded(part: tuple[int, ...], whole: tuple[int, ...]) -> BitMatrix:
    """Row-major index in the part -> row-major index in the whole."""
    bits = math.prod(part).bit_length() - 1
    columns = tuple(flatten(unflatten(1 << bit, part), whole) for bit in range(bits))
    return BitMatrix(columns, math.prod(whole).bit_length() - 1)
