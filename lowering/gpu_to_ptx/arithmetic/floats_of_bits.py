"""Floats of integers that are a few bits of a word, by permutations and packed operations; no step rounds.

A permutation puts the bytes of two elements into the halves of a register, `lop3` puts their bits under the exponent of
2**10 (f16) or 2**7 (bf16), and one operation on both halves takes that power of two off. An f32 has the exponent of
2**23. The sign bit of a signed number is inverted before, which adds half of its range.

A bf16 under one exponent has a bit less than a byte. Subnormal numbers and the least normal ones together have a byte,
in units of 2**-133. The factor 2**133 exceeds bf16: the product with 2**127 has the unit 2**-6, by which it is divided.

The difference of such a number and another integer takes both off at once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import field_of
from tilec.lowering.gpu_to_ptx.registers.bit_field import BitField, FloatsOfBits
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, in_pairs
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of

_BYTE = 8
# PTX ISA, lop3: the table of (a & b) ^ c.
_AND_XOR = 0x6A
_SIGNS = 0x80808080
# The bits of the significand of each float, without the hidden one: numbers below 2**bits are exact under its exponent.
_EXPONENTS = {"f16": 10, "bf16": 7, "f32": 23}
# The factor of bf16 in units of 2**-133, and the unit of their product.
_LARGEST_FACTOR, _UNIT = 2.0**127, 2.0**-6


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
        fields.append(_as_read(field, source, signed))
    if any(abs(field.added) > 1 << _BYTE - 1 or not signed and field.bounds[0] < 0 for field in fields):
        return None
    if target.name == "f32":
        return _singles(lowering, fields)
    if len(fields) % 2:
        return None
    pairs = list(zip(fields[0::2], fields[1::2], strict=True))
    if all(max(map(abs, field.bounds)) <= _largest(target) for field in fields):
        words = [_pair(lowering, target, *pair) for pair in pairs]
    else:
        singles = _singles(lowering, fields)
        halves = zip(singles[0::2], singles[1::2], strict=True)
        words = [lowering.compute("cvt.rn.bf16x2.f32 $0, $1, $2;", "i32", high, low) for low, high in halves]
    return [half for word in words for half in halves_of(lowering, word)]


def record_bounds(
    lowering: Lowering, source: PtxElement, signed: bool, registers: Sequence[ir.Value], floats: Sequence[ir.Value]
) -> None:
    """Records the least and the largest integer that each float is, for differences.

    Args:
        lowering: the state.
        source: the type of the integers.
        signed: whether the integers are signed.
        registers: the registers of the integers.
        floats: the registers of the floats.
    """
    for register, result in zip(registers, floats, strict=True):
        field = field_of(lowering, source, register) or BitField(register, 0, source.bits)
        if not field.zeros:
            lowering.integer_bounds[result] = _as_read(field, source, signed).bounds


def difference_of_bits(
    lowering: Lowering, kind: PtxElement, pairs: Sequence[Column], packed: Sequence[ir.Value]
) -> ir.Value | None:
    """The pair of the differences of integers, of which the first ones are bits of a word; None for other floats.

    Args:
        lowering: the state.
        kind: the type of the 16-bit floats.
        pairs: two registers of each operand.
        packed: the register with both.
    """
    minuend, subtrahend = packed
    floats, bounds = lowering.floats_of_bits.get(minuend), [lowering.integer_bounds.get(half) for half in pairs[1]]
    if floats is None:
        return None
    for taken, ends in zip(floats.taken, bounds, strict=True):
        if ends is None or any(max(abs(end), abs(taken + end)) > _largest(kind) for end in ends):
            return None

    def added() -> ir.Value:
        operands = (_halves(lowering, kind, -floats.unit), _halves(lowering, kind, *_added(floats)))
        return lowering.compute(f"fma.rn.{kind.name}x2 $0, $1, $2, $3;", "i32", subtrahend, *operands)

    return _scaled(lowering, kind, floats, lowering.once(("taken", subtrahend, floats.taken, floats.unit), added))


def _as_read(field: BitField, source: PtxElement, signed: bool) -> BitField:
    """The field with the sign that its user gives to an integer of all bits."""
    return replace(field, is_signed=signed) if field.bits == source.bits else field


def _largest(target: PtxElement) -> int:
    """The number up to which the type represents all integers."""
    return 1 << _EXPONENTS[target.name] + 1


def _pair(lowering: Lowering, target: PtxElement, low: BitField, high: BitField) -> ir.Value:
    exponent = _EXPONENTS[target.name]
    fits = all(field.bits <= exponent and max(map(abs, field.bounds)) <= 1 << exponent - 1 for field in (low, high))
    # ptxas copies a factor that differs between the halves for each instruction.
    at = low.shift % _BYTE if fits and low.shift % _BYTE == high.shift % _BYTE else 0
    if max(low.bits, high.bits) + at > min(exponent, _BYTE):
        at = 0
    low, high = (_moved_to(lowering, field, at) for field in (low, high))
    power = _code(target, 2.0**exponent) if fits else 0
    if low.word == high.word and low.bits == high.bits == _BYTE and low.is_signed == high.is_signed:
        word = _without_signs(lowering, low)
        selector = 0x5050 | low.shift // _BYTE | high.shift // _BYTE << 8
        number = lowering.compute(f"prmt.b32 $0, $1, $2, {selector:#x};", "i32", word, _word(lowering, power, power))
    else:
        bits = _both_bytes(lowering, low, high)
        mask, signs = low.mask | high.mask << 16, low.sign | high.sign << 16
        number = _masked(lowering, bits, mask << at, power * 0x10001 | signs << at)
    hidden = 2.0 ** (exponent - at) if fits else 0.0
    taken = (hidden + low.sign - low.added, hidden + high.sign - high.added)
    factor, unit = (2.0**-at, 1.0) if fits else (_LARGEST_FACTOR, _UNIT)
    floats = FloatsOfBits(number, factor, taken, unit)
    result = _scaled(lowering, target, floats, None)
    lowering.floats_of_bits[result] = floats
    return result


def _added(floats: FloatsOfBits) -> tuple[float, float]:
    low, high = floats.taken
    return -low * floats.unit, -high * floats.unit


def _scaled(lowering: Lowering, target: PtxElement, floats: FloatsOfBits, added: ir.Value | None) -> ir.Value:
    """The pair of the floats, or with what is added to them in place of what is taken off; both in their unit."""
    number, form = floats.number, f"rn.{target.name}x2"
    if floats.factor == 1.0 and added is None:
        taken = _halves(lowering, target, *floats.taken)
        return lowering.compute(f"sub.{form} $0, $1, $2;", "i32", number, taken)
    factor = _halves(lowering, target, floats.factor)
    if floats.factor == 1.0 and added is not None:
        result = lowering.compute(f"add.{form} $0, $1, $2;", "i32", number, added)
    elif added is None and not any(floats.taken):
        result = lowering.compute(f"mul.{form} $0, $1, $2;", "i32", number, factor)
    else:
        added = _halves(lowering, target, *_added(floats)) if added is None else added
        result = lowering.compute(f"fma.{form} $0, $1, $2, $3;", "i32", number, factor, added)
    if floats.unit == 1.0:
        return result
    return lowering.compute(f"mul.{form} $0, $1, $2;", "i32", result, _halves(lowering, target, 1 / floats.unit))


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
    word = low | high << 16
    return lowering.once(("halves", word), lambda: lowering.b.compute(f"mov.b32 $0, {word:#x};", lowering.b.i32))


def _halves(lowering: Lowering, target: PtxElement, low: float, high: float | None = None) -> ir.Value:
    """A register of two 16-bit floats, which are equal without the second one."""
    return _word(lowering, _code(target, low), _code(target, low if high is None else high))


def _code(target: PtxElement, value: float) -> int:
    """The bits of a float that the type represents; a bf16 is the upper half of an f32."""
    if target.name == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    return int.from_bytes(struct.pack("<f", value), "little") >> (16 if target.name == "bf16" else 0)
