"""Bit operations on 16-bit integers as two halves of a word, as memory has them, or as bytes are extended to them."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import field_of, has_no_sign, record_bits, record_resized
from tilec.lowering.gpu_to_ptx.registers.bit_field import BitField
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, Step, each_distinct, partners
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import are_adjacent_bytes, halves_of, joined

_BITS, _MASK = 16, 0xFFFF
_BOTH = 0x10001
# PTX ISA, prmt: a digit of the selector is the number of a byte, and 8 more repeats its sign; byte 4 is zero here.
_ZERO_BYTE, _SIGN = 4, 8


def halves_by_words(lowering: Lowering, operation: ir.Operation, name: str, step: Step) -> None:
    """Lowers a bit operation or a shift of 16-bit integers; those that share words by operations on these words.

    Args:
        lowering: the state.
        operation: the operation.
        name: `and`, `or` or `xor`, or the name of a shift as `shrui`.
        step: computes and records the result of one pair of operands.
    """
    number = number_of_all(operation.operands[1])

    def steps(columns: list[Column]) -> list[ir.Value]:
        found = dict[Column, ir.Value]()
        for low, high in partners(lowering, columns):
            made = None if high is None else _of_words(lowering, name, number, low, high)
            if made is None or high is None:
                found |= {column: step(*column) for column in (low, high) if column is not None}
                continue
            for column, half in zip((low, high), made, strict=True):
                known = f"{name}i" if name in ("and", "or", "xor") else name
                found[column] = record_bits(lowering, ELEMENTS["i16"], known, column[0], number, half)
        return [found[column] for column in columns]

    each_distinct(lowering, operation, steps)


def _of_words(
    lowering: Lowering, name: str, number: int | None, low: Column, high: Column
) -> tuple[ir.Value, ...] | None:
    """The halves of the result; None for a shift by another number, or of signs."""
    pairs = list(zip(low, high, strict=True))
    word = joined(lowering, *pairs[0])
    if name in ("and", "or", "xor"):
        if number is not None:
            text = f"{name}.b32 $0, $1, {(number & _MASK) * _BOTH:#x};"
            return halves_of(lowering, lowering.compute(text, "i32", word))
        other = joined(lowering, *pairs[1])
        return halves_of(lowering, lowering.compute(f"{name}.b32 $0, $1, $2;", "i32", word, other))
    if number is None or not 0 <= number < _BITS:
        return None
    fields = [field_of(lowering, ELEMENTS["i16"], register) for register in pairs[0]]
    if name == "shrsi" and not all(field is not None and has_no_sign(field, _BITS) for field in fields):
        return None
    is_left = name == "shli"
    moved = lowering.compute(f"{'shl.b32' if is_left else 'shr.u32'} $0, $1, {number};", "i32", word)
    if not is_left or not all(_is_kept(field, number) for field in fields):
        mask = (_MASK << number & _MASK if is_left else _MASK >> number) * _BOTH
        moved = lowering.compute(f"and.b32 $0, $1, {mask:#x};", "i32", moved)
    return halves_of(lowering, moved)


def _is_kept(field: BitField | None, amount: int) -> bool:
    """Whether a shift to the left moves no bit of an integer out of its half, nor a copy of its sign."""
    return field is not None and field.bounds[0] >= 0 and field.bounds[1] << field.zeros + amount <= _MASK


def extended_bytes(lowering: Lowering, operation: ir.Operation, signed: bool, step: Step) -> None:
    """Extends bytes to 16 bits, two bytes of a half of a word by one permutation.

    Args:
        lowering: the state.
        operation: the extension.
        signed: whether the bytes have signs.
        step: computes and records the result of one byte.
    """
    byte, half = ELEMENTS["i8"], ELEMENTS["i16"]

    def steps(columns: list[Column]) -> list[ir.Value]:
        registers, made = [register for (register,) in columns], list[ir.Value]()
        while registers:
            pair = registers[:2]
            if len(pair) < 2 or not are_adjacent_bytes(lowering, pair):
                made.append(step(registers.pop(0)))
                continue
            word, index = lowering.bytes_of_words[pair[0]]
            upper = [index + at + _SIGN if signed else _ZERO_BYTE for at in range(2)]
            selector = index | upper[0] << 4 | index + 1 << 8 | upper[1] << 12
            both = lowering.compute(f"prmt.b32 $0, $1, 0, {selector:#x};", "i32", word)
            for register, result in zip(pair, halves_of(lowering, both), strict=True):
                made.append(record_resized(lowering, byte, half, signed, register, result))
            registers = registers[2:]
        return made

    each_distinct(lowering, operation, steps)
