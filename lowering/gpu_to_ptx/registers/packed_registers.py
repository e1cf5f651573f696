"""Packing of narrow elements into 32-bit registers for memory accesses; predicates are bytes."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

_BYTES_OF_A_WORD = 4


def packed_type(element: PtxElement, count: int) -> tuple[str, int]:
    """The register type for accesses of `count` successive elements, and the number of elements per register."""
    if element.bits >= 32:
        return element.register, 1
    per_register = 4 // element.bytes
    return ("i32", per_register) if count >= per_register else ("i16", count)


def pack(lowering: Lowering, element: PtxElement, registers: list[ir.Value]) -> list[ir.Value]:
    """Packs successive elements into the registers of a memory access."""
    if element.is_predicate:
        registers = [lowering.compute("selp.b16 $0, 1, 0, $1;", "i16", register) for register in registers]
    _, per_register = packed_type(element, len(registers))
    groups = [registers[first : first + per_register] for first in range(0, len(registers), per_register)]
    return [_packed(lowering, element, group) for group in groups]


def unpack(lowering: Lowering, element: PtxElement, packed: list[ir.Value], count: int) -> list[ir.Value]:
    """Extracts the elements from packed registers."""
    _, per_register = packed_type(element, count)
    registers = [register for each in packed for register in _elements(lowering, element, each, per_register)]
    if not element.is_predicate:
        return registers
    bytes_ = [lowering.compute("and.b16 $0, $1, 0xff;", "i16", register) for register in registers]
    return [lowering.compute("setp.ne.s16 $0, $1, 0;", "i1", byte) for byte in bytes_]


def _packed(lowering: Lowering, element: PtxElement, group: list[ir.Value]) -> ir.Value:
    if len(group) == 1:
        return group[0]
    if (known := _gathered(lowering, group)) is not None:
        return known
    if element.bytes == 1:
        group = [_two_bytes(lowering, *pair) for pair in zip(group[0::2], group[1::2], strict=True)]
        if len(group) == 1:
            return group[0]
    return lowering.packed.get(tuple(group)) or lowering.b.compute("mov.b32 $0, {$1, $2};", lowering.b.i32, *group)


def _gathered(lowering: Lowering, group: list[ir.Value]) -> ir.Value | None:
    """The word of four bytes of known words: one of those, or by three permutations; None for other elements."""
    found = [lowering.bytes_of_words[register] for register in group if register in lowering.bytes_of_words]
    if len(group) != _BYTES_OF_A_WORD or len(found) != len(group):
        return None
    words, indices = [word for word, _ in found], [index for _, index in found]
    if indices == list(range(_BYTES_OF_A_WORD)) and all(word == words[0] for word in words):
        return words[0]
    halves = []
    for at in (0, 2):
        # PTX ISA, prmt: each digit of the selector is the number of a byte, of which the second word has 4 to 7.
        selector = indices[at] + 16 * (4 + indices[at + 1])
        halves.append(lowering.compute(f"prmt.b32 $0, $1, $2, {selector};", "i32", *words[at : at + 2]))
    return lowering.compute("prmt.b32 $0, $1, $2, 0x5410;", "i32", *halves)


def _two_bytes(lowering: Lowering, low: ir.Value, high: ir.Value) -> ir.Value:
    low = lowering.compute("and.b16 $0, $1, 0xff;", "i16", low)
    high = lowering.compute("shl.b16 $0, $1, 8;", "i16", high)
    return lowering.compute("or.b16 $0, $1, $2;", "i16", low, high)


def _elements(lowering: Lowering, element: PtxElement, packed: ir.Value, per_register: int) -> list[ir.Value]:
    if per_register == 1:
        return [packed]
    halves = [packed]
    if per_register * element.bytes == 4:
        pair = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], packed)
        lowering.packed[pair] = packed
        halves = list(pair)
    if element.bytes == 2:
        return halves
    bytes_ = [byte for half in halves for byte in (half, lowering.compute("shr.u16 $0, $1, 8;", "i16", half))]
    if not element.is_predicate and per_register == _BYTES_OF_A_WORD:
        lowering.bytes_of_words.update((byte, (packed, index)) for index, byte in enumerate(bytes_))
    return bytes_
