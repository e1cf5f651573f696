"""The work of integers that are bits of words, and of their conversion to floats (arithmetic/floats_of_bits.py)."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.operations.memory import LoadSharedOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    CatOp,
    ConvertLayoutOp,
    IotaOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
)
from tilec.dialect.walk import owner_of, reached, users_of
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu.ir.tile_size import element_bits
from tilec.lowering.instruction_choice import compares_bytes, selects_words
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import NO_WORK, Step

_SHAPES = tuple(op.OPERATION_NAME for op in (BroadcastOp, CatOp, ConvertLayoutOp, ReshapeOp, TransposeOp))
_NUMBERS = (*_SHAPES, IotaOp.OPERATION_NAME, SplatOp.OPERATION_NAME, "arith.muli", "arith.constant")
_CONVERSIONS = ("arith.sitofp", "arith.uitofp")
_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
_WORDS = ("arith.andi", "arith.ori", "arith.xori", *_SHIFTS)
_SUMS = ("arith.addi", "arith.subi", "arith.xori")
_REMAINDERS = ("arith.remsi", "arith.remui")
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.floordivsi", *_REMAINDERS)
_BITS = ("arith.andi", *_SUMS, *_SHIFTS, *_QUOTIENTS)
_EXTENSIONS = ("arith.extsi", "arith.extui")
_RESIZES = (*_EXTENSIONS, "arith.trunci")
_LOADS = (*GLOBAL_LOADS, LoadSharedOp.OPERATION_NAME)
_BYTE_BITS, _HALF_BITS, _WORD_BITS = 8, 16, 32
# The seven low bits of the bytes of a word, a sum, and its function with the sign bits.
_OPERATIONS_OF_A_COMPARISON = 3
# A shift of a word, and the mask of the bits that came from the byte or the half beside.
_OPERATIONS_OF_A_SHIFT = 2


def bit_work(op: ir.OpView, elements: float, device: Device) -> Step | None:
    """The work of an operation on bits of words, or of their conversion; None for other operations.

    Args:
        op: an elementwise operation.
        elements: the elements that threads compute.
        device: the device.
    """
    operation, name = op.operation, op.operation.name
    if selects_words(operation):
        # Half of a mask of each element, and half of a choice; a byte has the quarters of both.
        return Step(alu=elements * _width(operation.results[0]) / _HALF_BITS)
    if compares_bytes(operation) and all(map(selects_words, users_of(operation.results[0]))):
        return Step(alu=elements * _OPERATIONS_OF_A_COMPARISON * _BYTE_BITS / _WORD_BITS)
    if name in _CONVERSIONS:
        return _conversion(operation, elements, device)
    if name == "arith.subf" and _width(operation.results[0]) == _HALF_BITS:
        return NO_WORK if all(map(_is_float_of_bits, operation.operands)) else None
    if (name in _RESIZES or _leaves_bits(operation)) and _is_only_converted(operation.results[0]):
        return NO_WORK
    width = _width(operation.results[0])
    if name in _EXTENSIONS and width == _HALF_BITS and _width(operation.operands[0]) == _BYTE_BITS:
        return Step(alu=elements / 2)
    is_of_two = width == _HALF_BITS and name not in _SHIFTS
    if name not in _WORDS or width not in (_BYTE_BITS, _HALF_BITS):
        return None
    if not is_of_two and not _is_number(operation.operands[1]):
        return None
    steps = _OPERATIONS_OF_A_SHIFT if name in _SHIFTS and not _stays_inside(operation) else 1
    return Step(alu=elements * width / _WORD_BITS * steps)


def _stays_inside(op: ir.Operation) -> bool:
    """Whether a shift of 16-bit integers to the left moves no bit to the half beside."""
    bits, number = _field_bits(op.operands[0]), number_of_all(op.operands[1])
    is_left = op.name == "arith.shli" and _width(op.results[0]) == _HALF_BITS
    return is_left and bits is not None and number is not None and bits + number <= _HALF_BITS


def _conversion(op: ir.Operation, elements: float, device: Device) -> Step | None:
    """Two elements share a permutation, a mask and a sum; bytes need no mask, but the signs of a word are changed.

    Bytes as bf16 have a sum and a product. Floats of 8 bits are f16 before, of which an instruction converts two.
    """
    source, target = op.operands[0], op.results[0].type.element_type
    bits = {_field_bits(value) for value in _sources(source)}
    if None in bits or not bits:
        return None
    is_byte = bits == {_BYTE_BITS}
    if element_bits(target) == 32:
        return Step(alu=elements, fma=elements, joined=elements - elements / device.floats_per_instruction)
    narrowed = elements / 2 if element_bits(target) == _BYTE_BITS else 0.0
    if not is_byte:
        return Step(alu=elements + narrowed, fma=elements / 2)
    steps = 2 if isinstance(target, ir.BF16Type) else 1
    alu = elements * (3 if op.name == "arith.sitofp" else 2) / 4
    return Step(alu=alu + narrowed, fma=steps * elements / 2)


def _is_float_of_bits(value: ir.Value) -> bool:
    """Whether a tile has floats of bits of words: the difference of two such tiles takes both off at once."""
    owners = [owner_of(source) for source in _sources(value)]
    return all(
        op is not None and op.name in _CONVERSIONS and None not in map(_field_bits, _sources(op.operands[0]))
        for op in owners
    )


def _field_bits(value: ir.Value) -> int | None:
    """The bits of a word that a tile has at most, if they are a byte or less; else None."""
    op = owner_of(value)
    if op is None:
        return _BYTE_BITS if _width(value) == _BYTE_BITS else None
    mask = number_of_all(op.operands[1]) if op.name == "arith.andi" else None
    if mask is not None and 0 <= mask < 1 << _BYTE_BITS:
        return mask.bit_length()
    if op.name in (*_BITS, *_LOADS, *_RESIZES) and _width(value) == _BYTE_BITS:
        return _BYTE_BITS - 1 if op.name in _BITS else _BYTE_BITS
    if op.name in _REMAINDERS and (divisor := number_of_all(op.operands[1])) is not None and _leaves_bits(op):
        return min(_BYTE_BITS, divisor.bit_length() - 1)
    if op.name in (*_SUMS, *_QUOTIENTS) and _leaves_bits(op) or op.name in _EXTENSIONS:
        return _field_bits(op.operands[0])
    return None


def _leaves_bits(op: ir.Operation) -> bool:
    """Whether the results of an operation are bits of the word of its first operand, and perhaps a constant."""
    if op.name not in _BITS or not _is_number(op.operands[1]):
        return False
    number = number_of_all(op.operands[1])
    return op.name not in _QUOTIENTS or number is not None and number > 0 and number & number - 1 == 0


def _sources(value: ir.Value) -> Iterator[ir.Value]:
    """The tiles whose elements a tile has, after operations that move and repeat elements."""
    for each in reached(value, _moved):
        op = owner_of(each)
        if op is None or op.name not in _SHAPES:
            yield each


def _moved(value: ir.Value) -> Iterator[ir.Value]:
    op = owner_of(value)
    if op is not None and op.name in _SHAPES:
        yield from op.operands


def _is_number(value: ir.Value) -> bool:
    """Whether the elements of a tile are known when it is compiled, for each register."""
    op = owner_of(value)
    return op is not None and op.name in _NUMBERS and all(map(_is_number, op.operands))


def _is_only_converted(value: ir.Value) -> bool:
    """Whether nothing but conversions reads a tile, directly or after operations that leave bits of the word."""
    readers = [user.name for each in reached(value, _results_of_bits) for user in users_of(each)]
    return bool(readers) and all(name in (*_CONVERSIONS, *_SHAPES, *_BITS, *_RESIZES) for name in readers)


def _results_of_bits(value: ir.Value) -> Iterator[ir.Value]:
    for user in users_of(value):
        if user.name in (*_SHAPES, *_BITS, *_RESIZES):
            yield from user.results


def _width(value: ir.Value) -> int:
    return element_bits(value.type.element_type)
