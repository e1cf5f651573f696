"""Bit operations on 8-bit integers as four bytes of a word, as memory has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import record_bits
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import unpack

_BYTES = 4
_BITS, _MASK = 8, 0xFF
_ONES = 0x01010101
_SIGNS = 0x80808080


def words_of(lowering: Lowering, registers: Sequence[ir.Value]) -> list[ir.Value] | None:
    """The words whose bytes registers are in order, four of each; None if they are of other registers."""
    words = list[ir.Value]()
    for first in range(0, len(registers), _BYTES):
        found = [lowering.bytes_of_words.get(register) for register in registers[first : first + _BYTES]]
        word = None if found[0] is None else found[0][0]
        if word is None or found != [(word, index) for index in range(_BYTES)]:
            return None
        words.append(word)
    return words


def words_of_halves(lowering: Lowering, registers: Sequence[ir.Value]) -> list[ir.Value] | None:
    """The words whose half bytes registers are in order, eight of each; None if they are of other registers."""
    pairs = zip(registers[0::2], registers[1::2], strict=False)
    found = [lowering.packed_bytes.get(pair) for pair in pairs]
    bytes_ = [byte for byte in found if byte is not None]
    return words_of(lowering, bytes_) if 2 * len(bytes_) == len(registers) and len(bytes_) % _BYTES == 0 else None


def bits_by_words(lowering: Lowering, operation: ir.Operation, name: str) -> bool:
    """Lowers a bit operation or a shift of bytes by a constant to operations on words; False if it is another one."""
    result, tile = _INSTRUCTIONS.get(name), operation.operands[0]
    number = number_of_all(operation.operands[1])
    if result is None or number is None or "sh" in name and not 0 <= number < _BITS:
        return False
    registers, kind = lowering.get(tile), ELEMENTS["i8"]
    words = words_of(lowering, registers)
    if words is None:
        return False
    made = unpack(lowering, kind, [result(lowering, word, number & _MASK) for word in words], len(registers))
    for source, byte in zip(registers, made, strict=True):
        record_bits(lowering, kind, name if "sh" in name else f"{name}i", source, number, byte)
    lowering.set(operation.results[0], made)
    return True


def _of_bits(name: str) -> Callable[[Lowering, ir.Value, int], ir.Value]:
    return lambda lowering, word, number: lowering.compute(f"{name}.b32 $0, $1, {number * _ONES:#x};", "i32", word)


def _raised(lowering: Lowering, word: ir.Value, amount: int) -> ir.Value:
    moved = lowering.compute(f"shl.b32 $0, $1, {amount};", "i32", word)
    return lowering.compute(f"and.b32 $0, $1, {(_MASK << amount & _MASK) * _ONES:#x};", "i32", moved)


def _shifted(lowering: Lowering, word: ir.Value, amount: int) -> ir.Value:
    moved = lowering.compute(f"shr.u32 $0, $1, {amount};", "i32", word)
    return lowering.compute(f"and.b32 $0, $1, {(_MASK >> amount) * _ONES:#x};", "i32", moved)


def _shifted_with_sign(lowering: Lowering, word: ir.Value, amount: int) -> ir.Value:
    """The bits that a negative byte gets are those from its moved sign bit to the sign bit."""
    signs = lowering.compute(f"and.b32 $0, $1, {_SIGNS:#x};", "i32", word)
    moved_signs = lowering.compute(f"shr.u32 $0, $1, {amount};", "i32", signs)
    between = lowering.compute("sub.s32 $0, $1, $2;", "i32", signs, moved_signs)
    filled = lowering.compute("or.b32 $0, $1, $2;", "i32", between, signs)
    return lowering.compute("or.b32 $0, $1, $2;", "i32", _shifted(lowering, word, amount), filled)


_INSTRUCTIONS = {
    **{name: _of_bits(name) for name in ("and", "or", "xor")},
    "shli": _raised,
    "shrui": _shifted,
    "shrsi": _shifted_with_sign,
}
