"""Elements as memory holds them: several narrow ones in a register of 32 bits, predicates as bytes."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.lowering import Lowering


def packed_type(element: PtxElement, count: int) -> tuple[str, int]:
    """The register type that carries `count` successive elements in memory accesses, and how many one carries."""
    if element.bits >= 32:
        return element.register, 1
    per_word = 4 // element.bytes
    return ("i32", per_word) if count >= per_word else ("i16", count)


def pack(lowering: Lowering, element: PtxElement, registers: list[ir.Value]) -> list[ir.Value]:
    """Successive elements in as few registers as memory takes them in."""
    if element.kind == "predicate":
        registers = [lowering.compute("selp.b16 $0, 1, 0, $1;", "i16", register) for register in registers]
    _, per_word = packed_type(element, len(registers))
    groups = [registers[first : first + per_word] for first in range(0, len(registers), per_word)]
    return [_word(lowering, element, group) for group in groups]


def unpack(lowering: Lowering, element: PtxElement, words: list[ir.Value], count: int) -> list[ir.Value]:
    """The elements in registers that `pack` filled."""
    _, per_word = packed_type(element, count)
    registers = [register for word in words for register in _elements(lowering, element, word, per_word)]
    if element.kind != "predicate":
        return registers
    bytes_ = [lowering.compute("and.b16 $0, $1, 0xff;", "i16", register) for register in registers]
    return [lowering.compute("setp.ne.s16 $0, $1, 0;", "i1", byte) for byte in bytes_]


def _word(lowering: Lowering, element: PtxElement, group: list[ir.Value]) -> ir.Value:
    if len(group) == 1:
        return group[0]
    if element.bytes == 1:
        group = [_two_bytes(lowering, *pair) for pair in zip(group[0::2], group[1::2], strict=True)]
        if len(group) == 1:
            return group[0]
    return lowering.packed.get(tuple(group)) or lowering.b.compute("mov.b32 $0, {$1, $2};", lowering.b.i32, *group)


def _two_bytes(lowering: Lowering, low: ir.Value, high: ir.Value) -> ir.Value:
    low = lowering.compute("and.b16 $0, $1, 0xff;", "i16", low)
    high = lowering.compute("shl.b16 $0, $1, 8;", "i16", high)
    return lowering.compute("or.b16 $0, $1, $2;", "i16", low, high)


def _elements(lowering: Lowering, element: PtxElement, word: ir.Value, per_word: int) -> list[ir.Value]:
    if per_word == 1:
        return [word]
    halves = [word]
    if per_word * element.bytes == 4:
        pair = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], word)
        lowering.packed[pair] = word
        halves = list(pair)
    if element.bytes == 2:
        return halves
    return [byte for half in halves for byte in (half, lowering.compute("shr.u16 $0, $1, 8;", "i16", half))]
