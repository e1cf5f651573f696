"""pack and unpack: elements and the bytes that hold them are in the same thread, so no element moves."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import PackOp, UnpackOp
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import extended
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack as packed_bytes
from tilec.lowering.gpu_to_ptx.registers.packed_registers import unpack as separate_bytes
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import joined_in_threads, joined_registers

_BYTE = ELEMENTS["i8"]


@lowers(PackOp)
def pack(lowering: Lowering, operation: ir.Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    kind, dimension = element(source), operation.attributes["dimension"].value
    width = ELEMENT_TYPES[kind.name].packed_bits
    if width < 8:
        registers = joined_parts(lowering, kind, lowering.get(source), layout_of(source.type), dimension)
        _check(joined_in_threads(layout_of(source.type), dimension, 8 // width), layout_of(result.type))
        lowering.set(result, registers)
        return
    groups = _groups(layout_of(result.type), layout_of(source.type), dimension, width // 8)
    lowering.set(result, _spread(groups, [_bytes_of(lowering, kind, register) for register in lowering.get(source)]))


@lowers(UnpackOp)
def unpack(lowering: Lowering, operation: ir.Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    kind, dimension = element(result), operation.attributes["dimension"].value
    width = ELEMENT_TYPES[kind.name].packed_bits
    if width < 8:
        _check(joined_in_threads(layout_of(result.type), dimension, 8 // width), layout_of(source.type))
        lowering.set(result, divided_parts(lowering, kind, lowering.get(source), layout_of(result.type), dimension))
        return
    groups = _groups(layout_of(source.type), layout_of(result.type), dimension, width // 8)
    registers = lowering.get(source)
    lowering.set(result, [_element_of(lowering, kind, [registers[r] for r in group]) for group in groups])


def joined_parts(
    lowering: Lowering, kind: PtxElement, registers: Sequence[ir.Value], layout: LinearLayout, dimension: int
) -> list[ir.Value]:
    """The bytes of elements of less than a byte; raises ValueError if threads share a byte."""
    parts = 8 // ELEMENT_TYPES[kind.name].packed_bits
    groups = joined_registers(layout, dimension, parts)
    return [byte_of(lowering, kind, [registers[r] for r in group]) for group in groups]


def divided_parts(
    lowering: Lowering, kind: PtxElement, registers: Sequence[ir.Value], layout: LinearLayout, dimension: int
) -> list[ir.Value]:
    """The elements of less than a byte, in the layout, of bytes in the joined layout."""
    parts = 8 // ELEMENT_TYPES[kind.name].packed_bits
    groups = joined_registers(layout, dimension, parts)
    return _spread(groups, [_parts_of(lowering, kind, register, parts) for register in registers])


def byte_of(lowering: Lowering, kind: PtxElement, group: Sequence[ir.Value]) -> ir.Value:
    """The byte of elements of less than a byte; the upper half of its register is undefined."""
    known = lowering.packed_bytes.get(tuple(group))
    if known is not None:
        return known
    width = 8 // len(group)
    total: ir.Value | None = None
    for position, register in enumerate(group):
        if kind.is_predicate:
            part = lowering.compute(f"selp.b16 $0, {1 << position}, 0, $1;", "i16", register)
        else:
            part = register if position == len(group) - 1 else extended(lowering, kind, False, register)
            part = lowering.compute(f"shl.b16 $0, $1, {width * position};", "i16", part) if position else part
        total = part if total is None else lowering.compute("or.b16 $0, $1, $2;", "i16", total, part)
    assert total is not None
    return total


def _parts_of(lowering: Lowering, kind: PtxElement, byte: ir.Value, count: int) -> list[ir.Value]:
    if kind.is_predicate:
        bits = [lowering.compute(f"and.b16 $0, $1, {1 << position};", "i16", byte) for position in range(count)]
        return [lowering.compute("setp.ne.s16 $0, $1, 0;", "i1", bit) for bit in bits]
    width = 8 // count
    shifts = range(width, 8, width)
    parts = [byte, *(lowering.compute(f"shr.u16 $0, $1, {shift};", "i16", byte) for shift in shifts)]
    lowering.packed_bytes[tuple(parts)] = byte
    return parts


def _bytes_of(lowering: Lowering, kind: PtxElement, register: ir.Value) -> list[ir.Value]:
    if kind.register_bits == 64:
        halves = lowering.compute_all("mov.b64 {$0, $1}, $2;", ["i32", "i32"], register)
    elif kind.register == "f32":
        halves = (lowering.compute("mov.b32 $0, $1;", "i32", register),)
    else:
        halves = (register,)
    return separate_bytes(lowering, _BYTE, list(halves), kind.bytes)


def _element_of(lowering: Lowering, kind: PtxElement, group: list[ir.Value]) -> ir.Value:
    parts = packed_bytes(lowering, _BYTE, group)
    if kind.register_bits == 64:
        return lowering.compute("mov.b64 $0, {$1, $2};", kind.register, *parts)
    return lowering.compute("mov.b32 $0, $1;", "f32", parts[0]) if kind.register == "f32" else parts[0]


def _groups(whole: LinearLayout, parts: LinearLayout, dimension: int, count: int) -> list[list[int]]:
    """The registers of the bytes of each element; raises ValueError if the layouts do not correspond."""
    _check(joined_in_threads(whole, dimension, count), parts)
    return joined_registers(whole, dimension, count)


def _spread(groups: list[list[int]], values: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
    """Register groups[i][j] is values[i][j]."""
    found = {r: value for group, row in zip(groups, values, strict=True) for r, value in zip(group, row, strict=True)}
    return [found[register] for register in range(len(found))]


def _check(expected: LinearLayout, found: LinearLayout) -> None:
    if expected != found:
        raise ValueError(f"expected each element in the thread of its bytes, in '{expected}', but got '{found}'")
