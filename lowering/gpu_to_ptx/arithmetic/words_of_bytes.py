"""8-bit integers as four bytes of a word, as memory has them: bit operations and conversions to floats.

A byte under the exponent of 2**23 in an f32, or of 2**10 in an f16, is that power of two plus the byte. A permutation
puts it there, and a subtraction takes the power off, both without rounding. Signed bytes get 128 added before, by a
change of their sign bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import SplatOp
from tilec.dialect.walk import owner_of
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import in_pairs
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of, unpack

_BYTES = 4
_BITS, _MASK = 8, 0xFF
_ONES = 0x01010101
_SIGNS = 0x80808080
# 2**10 as f16, in both halves, and 2**23 as f32.
_HALF, _SINGLE = 0x64006400, 0x4B000000
# The sum of 128 and 2**10 as f16, in both halves.
_SIGNED_HALF = 0x64806480
_FLOATS = ("f16", "bf16", "f32")


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


def bits_by_words(lowering: Lowering, operation: ir.Operation, name: str) -> bool:
    """Lowers a bit operation or a shift of bytes by a constant to operations on words; False if it is another one."""
    result, tile = _INSTRUCTIONS.get(name), operation.operands[0]
    number = _number(operation.operands[1])
    if result is None or number is None or "shr" in name and not 0 <= number < _BITS:
        return False
    words = words_of(lowering, lowering.get(tile))
    if words is None:
        return False
    made = [result(lowering, word, number & _MASK) for word in words]
    lowering.set(operation.results[0], unpack(lowering, ELEMENTS["i8"], made, _BYTES * len(made)))
    return True


def _number(tile: ir.Value) -> int | None:
    """The integer that all elements of a tile are; None if it is unknown."""
    op = owner_of(tile)
    if op is None or op.name not in (SplatOp.OPERATION_NAME, "arith.constant"):
        return None
    if op.name == SplatOp.OPERATION_NAME:
        return constant_of(op.operands[0])
    elements = ir.DenseElementsAttr(op.attributes["value"])
    return ir.IntegerAttr(elements.get_splat_value()).value if elements.is_splat else None


def _of_bits(name: str) -> Callable[[Lowering, ir.Value, int], ir.Value]:
    return lambda lowering, word, number: lowering.compute(f"{name}.b32 $0, $1, {number * _ONES:#x};", "i32", word)


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
    "shrui": _shifted,
    "shrsi": _shifted_with_sign,
}


def floats_of_words(
    lowering: Lowering, target: PtxElement, signed: bool, registers: Sequence[ir.Value]
) -> list[ir.Value] | None:
    """The floats of bytes of known words; None for other registers, and for other floats.

    Args:
        lowering: the state.
        target: the type of the floats.
        signed: whether the bytes are signed.
        registers: the registers of the bytes.
    """
    words = words_of(lowering, registers) if target.name in _FLOATS else None
    if words is None:
        return None
    if signed:
        words = [lowering.compute(f"xor.b32 $0, $1, {_SIGNS:#x};", "i32", word) for word in words]
    if target.name == "f16":
        return [half for word in words for half in _halves(lowering, signed, word)]
    singles = [single for word in words for single in _singles(lowering, signed, word)]
    if target.name == "f32":
        return singles
    pairs = zip(singles[0::2], singles[1::2], strict=True)
    packed = (lowering.compute("cvt.rn.bf16x2.f32 $0, $1, $2;", "i32", high, low) for low, high in pairs)
    return [half for each in packed for half in halves_of(lowering, each)]


def _halves(lowering: Lowering, signed: bool, word: ir.Value) -> list[ir.Value]:
    """PTX ISA, prmt: each digit of the selector is the number of a byte, of which the second word has 4 to 7."""
    power = lowering.b.compute(f"mov.b32 $0, {_HALF:#x};", lowering.b.i32)
    taken = lowering.b.compute(f"mov.b32 $0, {_SIGNED_HALF if signed else _HALF:#x};", lowering.b.i32)
    found = list[ir.Value]()
    for low in (0, 2):
        raised = lowering.compute(f"prmt.b32 $0, $1, $2, {0x5050 + low + ((low + 1) << 8):#x};", "i32", word, power)
        found += halves_of(lowering, lowering.compute("sub.rn.f16x2 $0, $1, $2;", "i32", raised, taken))
    return found


def _singles(lowering: Lowering, signed: bool, word: ir.Value) -> list[ir.Value]:
    kind = ELEMENTS["f32"]
    power = lowering.b.compute(f"mov.b32 $0, {_SINGLE:#x};", lowering.b.i32)
    taken = lowering.constant(kind, float(2**23 + 128 if signed else 2**23))
    columns = []
    for byte in range(_BYTES):
        raised = lowering.compute(f"prmt.b32 $0, $1, $2, {0x7440 + byte:#x};", "i32", word, power)
        columns.append((lowering.compute("mov.b32 $0, $1;", "f32", raised), taken))
    return in_pairs(lowering, "sub", ["rn"], columns)
