"""Integers that are a few bits of a word, as the nibbles of packed weights, and their conversion to floats.

Shifts, masks, and additions of constants record the bits of the word that an element is, and a conversion needs none of
their results: a permutation puts the bytes of two elements into the halves of a register, `lop3` puts their bits under
the exponent of 2**10 (f16) or 2**7 (bf16), and one operation on both halves takes that power of two off. An f32 has the
exponent of 2**23. No step rounds. The sign bit of a signed number is inverted before, which adds half of its range.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.bit_field import BitField
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import in_pairs
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of

_WORD, _BYTE = 32, 8
# PTX ISA, lop3: the table of (a & b) ^ c.
_AND_XOR = 0x6A
_SIGNS = 0x80808080
# The bits of the significand of each float, without the hidden one: numbers below 2**bits are exact under its exponent.
_EXPONENTS = {"f16": 10, "bf16": 7, "f32": 23}


# ---- the bits that an element is


def field_of(lowering: Lowering, kind: PtxElement, register: ir.Value) -> BitField | None:
    """The bits of a word that an integer is; None if they are not known."""
    if register in lowering.literals:
        return None
    field = lowering.bit_fields.get(register)
    if field is not None:
        # A wider integer may have been truncated to this one, in the same register.
        if field.added and not _is_exact(field, kind.bits):
            return None
        if field.bits + field.zeros <= kind.bits:
            return field
        bits = kind.bits - field.zeros
        return replace(field, bits=bits, is_signed=False) if bits > 0 else None
    if kind.bits == _BYTE and register in lowering.bytes_of_words:
        word, index = lowering.bytes_of_words[register]
        return BitField(word, _BYTE * index, _BYTE)
    return BitField(register, 0, _WORD) if kind.name == "i32" else None


def record_bits(
    lowering: Lowering, kind: PtxElement, name: str, source: ir.Value, number: int | None, result: ir.Value
) -> ir.Value:
    """Records the bits that the result of an operation on an integer and a constant is, and returns the result.

    Args:
        lowering: the state.
        kind: the type of both.
        name: the operation, `shrui` for example.
        source: the register of the integer.
        number: the constant; None if it is not known.
        result: the register of the result.
    """
    field = None if number is None else field_of(lowering, kind, source)
    if field is not None and number is not None and (found := _computed(field, name, number, kind.bits)) is not None:
        lowering.bit_fields[result] = found
    return result


def _computed(field: BitField, name: str, number: int, width: int) -> BitField | None:
    """The bits after an operation; None if they are not bits of the word any more, or overflow."""
    if name in ("addi", "subi"):
        moved = replace(field, added=field.added + (number if name == "addi" else -number))
        return moved if field.zeros == 0 and _is_exact(moved, width) else None
    number &= (1 << width) - 1
    if field.added:
        return None
    if name == "xori":
        # Bits with an inverted sign are the signed number plus half of the range.
        is_sign = number == 1 << field.bits - 1 and not field.is_signed and field.bits < width and field.zeros == 0
        return replace(field, is_signed=True, added=number) if is_sign else None
    if name == "andi":
        bits = number.bit_length()
        is_low = number == (1 << bits) - 1 and 0 < bits <= field.bits and field.zeros == 0
        return replace(field, bits=bits, is_signed=False) if is_low else None
    if number >= width:
        return None
    if name == "shli":
        bits = min(field.bits, width - field.zeros - number)
        return replace(field, bits=bits, zeros=field.zeros + number) if bits > 0 else None
    # The sign of fewer bits than the element has is repeated above them.
    if name not in ("shrui", "shrsi") or field.is_signed and name == "shrui":
        return None
    is_signed = field.is_signed or name == "shrsi" and field.zeros + field.bits == width
    dropped = max(0, number - field.zeros)
    if dropped >= field.bits:
        return None
    zeros = max(0, field.zeros - number)
    return BitField(field.word, field.shift + dropped, field.bits - dropped, is_signed, zeros)


def record_divided(
    lowering: Lowering, kind: PtxElement, name: str, source: ir.Value, number: int, result: ir.Value
) -> None:
    """Records the bits that a quotient by a power of two, or the remainder, is.

    Args:
        lowering: the state.
        kind: the type of all three.
        name: the operation, `floordivsi` for example.
        source: the register of the dividend.
        number: the divisor.
        result: the register of the result.
    """
    field = field_of(lowering, kind, source)
    if field is None or number < 1 or number & number - 1:
        return
    if name in ("divsi", "remsi") and (field.bits + field.zeros >= kind.bits or field.bounds[0] < 0):
        return
    is_remainder, is_signed = name.startswith("rem"), name.endswith("si")
    shift = "shrsi" if is_signed else "shrui"
    operation, operand = ("andi", number - 1) if is_remainder else (shift, number.bit_length() - 1)
    record_bits(lowering, kind, operation, source, operand, result)


def _is_exact(field: BitField, width: int) -> bool:
    """Whether a signed integer of `width` bits has all values of a field without zeros below its bits.

    A field of all bits is signed or unsigned as its user reads it, so nothing is added to it.
    """
    low, high = field.bounds
    return field.bits < width and -(1 << width - 1) <= low and high < 1 << width - 1


def record_resized(
    lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, a: ir.Value, result: ir.Value
) -> ir.Value:
    """Records the bits of an integer after its extension or truncation to another type, and returns the result."""
    field = field_of(lowering, source, a)
    if field is None or field.zeros or target.bits not in (_BYTE, 16, _WORD):
        return result
    if target.bits < source.bits:
        is_kept = not field.added and (field.bits <= target.bits or not field.is_signed)
        found = replace(field, bits=min(field.bits, target.bits)) if is_kept else None
    elif field.bits == source.bits:
        found = replace(field, is_signed=signed)
    else:
        found = field if signed or field.bounds[0] >= 0 else None
    if found is not None:
        lowering.bit_fields[result] = found
    return result


# ---- floats


def floats_of_bits(
    lowering: Lowering, source: PtxElement, target: PtxElement, signed: bool, registers: Sequence[ir.Value]
) -> list[ir.Value] | None:
    """The floats of integers that are at most a byte of a word each; None for others, and for other floats.

    Args:
        lowering: the state.
        source: the type of the integers.
        target: the type of the floats.
        signed: whether the integers are signed.
        registers: the registers of the integers.
    """
    fields = list[BitField]()
    for field in (field_of(lowering, source, register) for register in registers):
        if field is None or field.zeros or field.bits > _BYTE or target.name not in _EXPONENTS:
            return None
        fields.append(replace(field, is_signed=signed) if field.bits == source.bits else field)
    if any(abs(field.added) > 1 << _BYTE - 1 or not signed and field.bounds[0] < 0 for field in fields):
        return None
    if target.name == "f32":
        return _singles(lowering, fields)
    pairs = list(zip(fields[0::2], fields[1::2], strict=False))
    if len(fields) % 2:
        return None
    convert: Callable[..., ir.Value] = _pair
    if target.name == "bf16" and any(field.bits == _BYTE or max(map(abs, field.bounds)) > 64 for field in fields):
        if not all(map(_is_centered, fields)):
            singles = _singles(lowering, fields)
            packed = zip(singles[0::2], singles[1::2], strict=True)
            words = [lowering.compute("cvt.rn.bf16x2.f32 $0, $1, $2;", "i32", high, low) for low, high in packed]
            return [half for word in words for half in halves_of(lowering, word)]
        convert = _pair_of_centered_bytes
    return [half for pair in pairs for half in halves_of(lowering, convert(lowering, target, *pair))]


def _pair(lowering: Lowering, target: PtxElement, low: BitField, high: BitField) -> ir.Value:
    """The pair of the floats of two numbers."""
    exponent = _EXPONENTS[target.name]
    power = _code(target, 2.0**exponent)
    # ptxas copies a factor that differs between the halves for each instruction.
    at = low.shift % _BYTE if low.shift % _BYTE == high.shift % _BYTE else 0
    if max(low.bits, high.bits) + at > min(exponent, _BYTE):
        at = 0
    low, high = (_moved_to(lowering, field, at) for field in (low, high))
    taken = [2.0 ** (exponent - at) + field.sign - field.added for field in (low, high)]
    if low.word == high.word and low.bits == high.bits == _BYTE and low.is_signed == high.is_signed:
        word = _without_signs(lowering, low)
        selector = 0x5050 | low.shift // _BYTE | high.shift // _BYTE << 8
        number = lowering.compute(f"prmt.b32 $0, $1, $2, {selector:#x};", "i32", word, _word(lowering, power, power))
    else:
        bits = _both_bytes(lowering, low, high)
        mask, signs = low.mask | high.mask << 16, low.sign | high.sign << 16
        number = _masked(lowering, bits, mask << at, power * 0x10001 | signs << at)
    if not at:
        subtrahend = _word(lowering, *(_code(target, each) for each in taken))
        return lowering.compute(f"sub.rn.{target.name}x2 $0, $1, $2;", "i32", number, subtrahend)
    factor, added = _code(target, 2.0**-at), _word(lowering, *(_code(target, -each) for each in taken))
    text = f"fma.rn.{target.name}x2 $0, $1, $2, $3;"
    return lowering.compute(text, "i32", number, _word(lowering, factor, factor), added)


def _is_centered(field: BitField) -> bool:
    """Whether a number is a signed byte, or an unsigned byte less 128, which has the inverted sign bit."""
    return field.bits == _BYTE and field.added == (0 if field.is_signed else -(1 << _BYTE - 1))


def _pair_of_centered_bytes(lowering: Lowering, target: PtxElement, low: BitField, high: BitField) -> ir.Value:
    """2**7 and seven bits of each byte, without 2**7, or without the double of it if its sign bit is set.

    The sign is the lowest bit of the exponent of 2**7 in a bf16.
    """
    power = _code(target, 2.0 ** _EXPONENTS[target.name]) * 0x10001
    bits = _both_bytes(lowering, *(_moved_to(lowering, field, 0) for field in (low, high)))
    inverted = sum(0 if field.is_signed else 1 << at for field, at in ((low, _BYTE - 1), (high, 16 + _BYTE - 1)))
    number = _masked(lowering, bits, 0x7F * 0x10001, power)
    taken = _masked(lowering, bits, 0x80 * 0x10001, power ^ inverted)
    return lowering.compute(f"sub.rn.{target.name}x2 $0, $1, $2;", "i32", number, taken)


def _singles(lowering: Lowering, fields: Sequence[BitField]) -> list[ir.Value]:
    kind, exponent = ELEMENTS["f32"], _EXPONENTS["f32"]
    power, columns = _code(kind, 2.0**exponent), []
    for field in fields:
        if field.bits == _BYTE and field.shift % _BYTE == 0:
            shift, raised = 0, _word(lowering, power & 0xFFFF, power >> 16)
            selector = 0x7440 | field.shift // _BYTE
            word = _without_signs(lowering, field)
            number = lowering.compute(f"prmt.b32 $0, $1, $2, {selector:#x};", "i32", word, raised)
        else:
            shift = field.shift if field.shift + field.bits <= exponent else field.shift % 16
            word = _shifted(lowering, field.word, field.shift - shift)
            number = _masked(lowering, word, field.mask << shift, power | field.sign << shift)
        taken = 2.0 ** (exponent - shift) + field.sign - field.added
        columns.append((lowering.compute("mov.b32 $0, $1;", "f32", number), shift, taken))
    if all(shift == 0 for _, shift, _ in columns):
        return in_pairs(lowering, "sub", ["rn"], [(a, lowering.constant(kind, taken)) for a, _, taken in columns])
    operands = [(a, lowering.constant(kind, 2.0**-s), lowering.constant(kind, -taken)) for a, s, taken in columns]
    return in_pairs(lowering, "fma", ["rn"], operands)


def _without_signs(lowering: Lowering, field: BitField) -> ir.Value:
    """The word of a byte, plus 128 in each byte if they are signed."""
    word = field.word
    if not field.is_signed:
        return word
    return lowering.once((word, "signs"), lambda: lowering.compute(f"xor.b32 $0, $1, {_SIGNS:#x};", "i32", word))


def _moved_to(lowering: Lowering, field: BitField, at: int) -> BitField:
    """The field from bit `at` of a byte: of its word, or of its word shifted to the right."""
    shift = field.shift % _BYTE - at
    return replace(field, word=_shifted(lowering, field.word, shift), shift=field.shift - shift)


def _shifted(lowering: Lowering, word: ir.Value, amount: int) -> ir.Value:
    if not amount:
        return word
    return lowering.once((word, amount), lambda: lowering.compute(f"shr.u32 $0, $1, {amount};", "i32", word))


def _both_bytes(lowering: Lowering, low: BitField, high: BitField) -> ir.Value:
    """The bytes with two fields as the lower bytes of both halves.

    PTX ISA, prmt: each digit of the selector is the number of a byte; the bytes of the second word are 4 to 7.
    """
    first, second = low.shift // _BYTE, high.shift // _BYTE + 4
    selector = first * 0x11 | second * 0x1100
    return lowering.compute(f"prmt.b32 $0, $1, $2, {selector:#x};", "i32", low.word, high.word)


def _masked(lowering: Lowering, bits: ir.Value, mask: int, flipped: int) -> ir.Value:
    return lowering.compute(f"lop3.b32 $0, $1, {mask:#x}, {flipped:#x}, {_AND_XOR:#x};", "i32", bits)


def _word(lowering: Lowering, low: int, high: int) -> ir.Value:
    """A register of two halves."""
    word = low | high << 16
    return lowering.once(("halves", word), lambda: lowering.b.compute(f"mov.b32 $0, {word:#x};", lowering.b.i32))


def _code(target: PtxElement, value: float) -> int:
    """The bits of a float that the type represents; a bf16 is the upper half of an f32."""
    if target.name == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    return int.from_bytes(struct.pack("<f", value), "little") >> (16 if target.name == "bf16" else 0)
