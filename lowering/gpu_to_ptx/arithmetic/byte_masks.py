"""Bytes that are compared with a constant: four results in a word, and the elements of 8 and 16 bits that they select.

With x7 the lowest seven bits of each byte of a word, the sign bit of x7 + 0x7f - c is whether x7 > c, and no byte
carries into the next one; the sign bits of x and of the constant decide the rest. `prmt` makes a mask of each sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilec.dialect.mlir import ir
from tilec.dialect.upstream_predicates import predicate_of
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.words_of_bytes import words_of
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import pack, test_bit, unpack
from tilec.lowering.gpu_to_ptx.registers.value_parts import MaskBit

_BYTES, _BITS, _MASK, _SIGN = 4, 8, 0xFF, 0x80
_ONES, _LOW = 0x01010101, 0x7F7F7F7F
# PTX ISA, lop3: the tables of the operands, of which functions of operands are those of their tables.
_A, _B = 0xF0, 0xCC
# PTX ISA, lop3: the table of (a & b) | (~a & c).
_CHOICE = 0xCA
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def compare_bytes(lowering: Lowering, operation: ir.Operation) -> bool:
    """Lowers `cmpi` of bytes of words and a constant to tests of bits; returns False if it is another comparison."""
    predicate, (tile, bound) = predicate_of(operation), operation.operands
    sign, order = ("", predicate) if predicate in _MIRRORED else (predicate[0], predicate[1:])
    if number_of_all(bound) is None:
        tile, bound, order = bound, tile, _MIRRORED[order]
    number, registers = number_of_all(bound), lowering.get(tile)
    words = None if number is None else words_of(lowering, registers)
    if words is None or number is None:
        return False
    number &= _MASK
    if order in ("eq", "ne"):
        words = [lowering.compute(f"xor.b32 $0, $1, {number * _ONES:#x};", "i32", x) if number else x for x in words]
    if order == "ne":
        bits = [MaskBit(words[at // _BYTES], _BITS * (at % _BYTES), _BITS) for at in range(len(registers))]
    else:
        signs = [_results(lowering, word, order, number, is_signed=sign == "s") for word in words]
        bits = [MaskBit(signs[at // _BYTES], _BITS * (at % _BYTES) + _BITS - 1) for at in range(len(registers))]
    lowering.set(operation.results[0], [test_bit(lowering, bit) for bit in bits])
    return True


def _results(lowering: Lowering, word: ir.Value, order: str, number: int, *, is_signed: bool) -> ir.Value:
    """A word whose sign bits of bytes are the results of a comparison of each byte with a number."""
    if order == "eq":
        return _signs(lowering, word, 0, _MASK ^ (_A | _B))
    is_not = order in ("lt", "le")
    upper = _MASK ^ _B if is_signed else _B
    is_upper = bool(number & _SIGN) != is_signed
    table = _A & upper if is_upper else _A | upper
    return _signs(lowering, word, (number & ~_SIGN) - (order in ("lt", "ge")), _MASK ^ table if is_not else table)


def _signs(lowering: Lowering, word: ir.Value, number: int, table: int) -> ir.Value:
    """The function with a table of whether seven bits of each byte are more than a number, and of its sign bit."""
    low = lowering.compute(f"and.b32 $0, $1, {_LOW:#x};", "i32", word)
    more = lowering.compute(f"add.u32 $0, $1, {(0x7F - number) * _ONES:#x};", "i32", low)
    return lowering.compute(f"lop3.b32 $0, $1, $2, 0, {table:#x};", "i32", more, word)


def select_words(
    lowering: Lowering, kind: PtxElement, conditions: Sequence[ir.Value], values: Sequence[Sequence[ir.Value]]
) -> list[ir.Value] | None:
    """The elements of one word, of the first of two values where conditions are true; None if no bytes decide them."""
    bits = [bit for condition in conditions if (bit := lowering.mask_bits.get(condition)) and _is_of_byte(bit)]
    words = list(dict.fromkeys(bit.word for bit in bits))
    if len(bits) < len(conditions) or len(words) > 2 or len({bit.width for bit in bits}) > 1:
        return None
    # PTX ISA, prmt: 8 more than the number of a byte repeats its sign; the second word has the bytes 4 to 7.
    digits = [_BITS + _BYTES * words.index(bit.word) + bit.bit // _BITS for bit in bits for _ in range(kind.bytes)]
    selector = sum(digit << 4 * at for at, digit in enumerate(digits))
    if bits[0].width == _BITS:
        words = [lowering.once(("not zero", word), partial(_signs, lowering, word, 0, _A | _B)) for word in words]
    text = f"prmt.b32 $0, $1, ${len(words)}, {selector:#x};"
    mask = lowering.once((text, *words), lambda: lowering.compute(text, "i32", *words))
    (one,), (other,) = (pack(lowering, kind, list(group)) for group in values)
    chosen = lowering.compute(f"lop3.b32 $0, $1, $2, $3, {_CHOICE:#x};", "i32", mask, one, other)
    return unpack(lowering, kind, [chosen], len(conditions))


def _is_of_byte(bit: MaskBit) -> bool:
    """Whether a predicate is the sign bit of a byte of a word, or whether the byte has any bit."""
    return (bit.bit % _BITS, bit.width) in ((0, _BITS), (_BITS - 1, 1))
