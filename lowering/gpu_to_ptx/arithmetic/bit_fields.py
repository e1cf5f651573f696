"""Integers that are a few bits of a word, as the nibbles of packed weights.

Shifts, masks, and additions of constants record the bits of the word that an element is: a conversion to floats
(floats_of_bits.py) needs none of their results.
"""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.bit_field import BitField
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

_WORD, _BYTE = 32, 8


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
        return _masked(field, number)
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


def _masked(field: BitField, number: int) -> BitField | None:
    """The bits that a mask leaves, if it is one run of bits, without copies of a sign."""
    start = (number & -number).bit_length() - 1
    end, field_end = number.bit_length(), field.zeros + field.bits
    is_run = number > 0 and number >> start == (1 << end - start) - 1
    if not is_run or field.is_signed and end > field_end:
        return None
    zeros = max(start, field.zeros)
    bits = min(end, field_end) - zeros
    shift = field.shift + zeros - field.zeros
    return BitField(field.word, shift, bits, False, zeros) if bits > 0 else None


def has_no_sign(field: BitField, width: int) -> bool:
    """Whether a signed integer of `width` bits that is a field has neither copies of a sign nor a bit in its place."""
    return field.bits + field.zeros < width and field.bounds[0] >= 0


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
    if name in ("divsi", "remsi") and not has_no_sign(field, kind.bits):
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
