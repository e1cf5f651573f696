"""Narrow elements in registers: packing for accesses of memory, where predicates are bytes, and extension.

The bits of a register above 8 or 4 bits are undefined, and i1 is a predicate.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.value_parts import MaskBit

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
    if element.is_predicate and per_register == _BYTES_OF_A_WORD:
        return [test_bit(lowering, MaskBit(each, 8 * byte, 8)) for each in packed for byte in range(per_register)]
    registers = [register for each in packed for register in _elements(lowering, element, each, per_register)]
    if not element.is_predicate:
        return registers
    bytes_ = [lowering.compute("and.b16 $0, $1, 0xff;", "i16", register) for register in registers]
    return [lowering.compute("setp.ne.s16 $0, $1, 0;", "i1", byte) for byte in bytes_]


def test_bit(lowering: Lowering, bit: MaskBit) -> ir.Value:
    """The predicate that a bit of a word is set, or one of several bits."""
    masked = lowering.compute(f"and.b32 $0, $1, {(1 << bit.width) - 1 << bit.bit};", "i32", bit.word)
    found = lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", masked)
    lowering.mask_bits[found] = bit
    return found


def _packed(lowering: Lowering, element: PtxElement, group: list[ir.Value]) -> ir.Value:
    if len(group) == 1:
        return group[0]
    if (known := _gathered(lowering, group)) is not None:
        return known
    if element.bytes == 1:
        group = [_two_bytes(lowering, *pair) for pair in zip(group[0::2], group[1::2], strict=True)]
        if len(group) == 1:
            return group[0]
    return joined(lowering, *group)


def joined(lowering: Lowering, low: ir.Value, high: ir.Value) -> ir.Value:
    """The register of 32 bits with these halves, one per block."""
    pair = (low, high)
    text, b = "mov.b32 $0, {$1, $2};", lowering.b
    return lowering.packed.get(pair) or lowering.once(pair, lambda: b.compute(text, b.i32, *pair))


def halves_of(lowering: Lowering, packed: ir.Value) -> tuple[ir.Value, ...]:
    """The halves of a register of 32 bits, which joined() knows."""
    halves = lowering.compute_all("mov.b32 {$0, $1}, $2;", ["i16", "i16"], packed)
    lowering.packed[halves] = packed
    return halves


def _gathered(lowering: Lowering, group: list[ir.Value]) -> ir.Value | None:
    """The register of two or four bytes of known words; None for other elements.

    Four are one of those words, two of their halves, or three permutations of their bytes.
    """
    if len(group) == 2:
        return group[0] if are_adjacent_bytes(lowering, group) else None
    found = [lowering.bytes_of_words[register] for register in group if register in lowering.bytes_of_words]
    if len(group) != _BYTES_OF_A_WORD or len(found) != len(group):
        return None
    words, indices = [word for word, _ in found], [index for _, index in found]
    if indices == list(range(_BYTES_OF_A_WORD)) and all(word == words[0] for word in words):
        return words[0]
    if all(are_adjacent_bytes(lowering, group[at : at + 2]) for at in (0, 2)):
        return joined(lowering, group[0], group[2])
    halves = []
    for at in (0, 2):
        # PTX ISA, prmt: each digit of the selector is the number of a byte, of which the second word has 4 to 7.
        selector = indices[at] + 16 * (4 + indices[at + 1])
        halves.append(lowering.compute(f"prmt.b32 $0, $1, $2, {selector};", "i32", *words[at : at + 2]))
    return lowering.compute("prmt.b32 $0, $1, $2, 0x5410;", "i32", *halves)


def are_adjacent_bytes(lowering: Lowering, pair: Sequence[ir.Value]) -> bool:
    """Whether two registers are the bytes of half of a word, in order: the first one has both."""
    first, *others = (lowering.bytes_of_words.get(register) for register in pair)
    return first is not None and first[1] % 2 == 0 and others == [(first[0], first[1] + 1)]


def _two_bytes(lowering: Lowering, low: ir.Value, high: ir.Value) -> ir.Value:
    low = lowering.compute("and.b16 $0, $1, 0xff;", "i16", low)
    high = lowering.compute("shl.b16 $0, $1, 8;", "i16", high)
    return lowering.compute("or.b16 $0, $1, $2;", "i16", low, high)


def _elements(lowering: Lowering, element: PtxElement, packed: ir.Value, per_register: int) -> list[ir.Value]:
    if per_register == 1:
        return [packed]
    halves = list(halves_of(lowering, packed)) if per_register * element.bytes == 4 else [packed]
    if element.bytes == 2:
        return halves
    bytes_ = [byte for half in halves for byte in (half, lowering.compute("shr.u16 $0, $1, 8;", "i16", half))]
    if not element.is_predicate and per_register == _BYTES_OF_A_WORD:
        lowering.bytes_of_words.update((byte, (packed, index)) for index, byte in enumerate(bytes_))
    return bytes_


def extended(lowering: Lowering, kind: PtxElement, signed: bool, register: ir.Value) -> ir.Value:
    """Extends 8 and 4 bits to 16 and i1 to 32; other types fill their registers."""
    if kind.is_predicate:
        return lowering.compute(f"selp.b32 $0, {-1 if signed else 1}, 0, $1;", "i32", register)
    if kind.bits > 8 or lowering.extensions.get(register) == (kind.bits, signed):
        return register
    if not signed:
        found = lowering.compute(f"and.b16 $0, $1, {(1 << kind.bits) - 1:#x};", "i16", register)
    elif kind.bits == 8:
        found = lowering.compute("cvt.s16.s8 $0, $1;", "i16", register)
    else:
        raised = lowering.compute(f"shl.b16 $0, $1, {16 - kind.bits};", "i16", register)
        found = lowering.compute(f"shr.s16 $0, $1, {16 - kind.bits};", "i16", raised)
    lowering.extensions[found] = kind.bits, signed
    return found


def widened(lowering: Lowering, kind: PtxElement, signed: bool, register: ir.Value, bits: int) -> ir.Value:
    """Sign- or zero-extends an integer to 16, 32 or 64 bits."""
    register = extended(lowering, kind, signed, register)
    known = 32 if kind.is_predicate else kind.register_bits
    if known == bits:
        return register
    sign = "s" if signed else "u"
    return lowering.compute(f"cvt.{sign}{bits}.{sign}{known} $0, $1;", f"i{bits}", register)


def lowest_bit(lowering: Lowering, kind: PtxElement, register: ir.Value) -> ir.Value:
    """The lowest bit of an integer as a predicate."""
    bit = lowering.compute(f"and.b{kind.register_bits} $0, $1, 1;", kind.register, register)
    return lowering.compute(f"setp.ne.s{kind.register_bits} $0, $1, 0;", "i1", bit)
