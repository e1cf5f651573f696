"""Integer and bitwise arithmetic. Undefined results are those of a GPU, and an error when checking."""

from __future__ import annotations

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.integer import reading, signed, unsigned, wrap
from tilec.runtime.interpret.operations.overflow import check_overflow
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

_WRAPPING: dict[str, np.ufunc] = {
    "cuda_tile.addi": np.add, "cuda_tile.subi": np.subtract, "cuda_tile.muli": np.multiply,
}  # fmt: skip
_BITWISE: dict[str, np.ufunc] = {
    "cuda_tile.andi": np.bitwise_and, "cuda_tile.ori": np.bitwise_or, "cuda_tile.xori": np.bitwise_xor,
}  # fmt: skip
PREDICATES: dict[str, np.ufunc] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}


@interprets("addi", "subi", "muli", elementwise=True)
def _wrapping(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    check_overflow(op, machine, lhs, rhs)
    return wrap(_WRAPPING[op.name](unsigned(lhs, op.element), unsigned(rhs, op.element)), op.element)


@interprets("andi", "ori", "xori", elementwise=True)
def _bitwise(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    return _BITWISE[op.name](lhs, rhs)


@interprets("negi", elementwise=True)
def _negi(op: Step, machine: Machine, source: Tile) -> Tile:
    check_overflow(op, machine, source)
    return wrap(np.negative(unsigned(source, op.element)), op.element)


@interprets("absi", elementwise=True)
def _absi(op: Step, _machine: Machine, source: Tile) -> Tile:
    value = signed(source, op.element)
    return wrap(np.where(value < 0, np.negative(value), value), op.element)


@interprets("mulhii", elementwise=True)
def _mulhii(op: Step, _machine: Machine, x: Tile, y: Tile) -> Tile:
    a, b = unsigned(x, op.element).astype(np.uint64), unsigned(y, op.element).astype(np.uint64)
    if op.element.width < 64:
        return wrap(a * b >> np.uint64(op.element.width), op.element)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    middle = (a >> half) * (b & low) + ((a & low) * (b & low) >> half)
    cross = (a & low) * (b >> half) + (middle & low)
    return wrap((a >> half) * (b >> half) + (middle >> half) + (cross >> half), op.element)


def _magnitudes(op: Step, lhs: Tile, rhs: Tile) -> tuple[Tile, Tile, Tile, Tile]:
    """Absolute values as u64 (1 for a divisor of 0), and masks of the negative operands."""
    a, b = (np.asarray(reading(tile, op.element, op["signedness"])) for tile in (lhs, rhs))
    negative_a, negative_b = a < 0, b < 0
    # Converting a negative integer to u64 and negating it gives its magnitude, also for the most negative one.
    raw_a, raw_b = a.astype(np.uint64), b.astype(np.uint64)
    magnitude_a = np.where(negative_a, np.negative(raw_a), raw_a)
    magnitude_b = np.where(negative_b, np.negative(raw_b), raw_b)
    return magnitude_a, np.where(b == 0, np.uint64(1), magnitude_b), negative_a, negative_b


def _check_division(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> None:
    if not machine.check:
        return
    if np.any(unsigned(rhs, op.element) == 0):
        machine.undefined(undefined_behaviour.DIVISION_BY_ZERO)
    lowest = -(2 ** (op.element.width - 1))
    signed_division = op["signedness"] == "signed" and op.name == "cuda_tile.divi"
    if signed_division and np.any((signed(lhs, op.element) == lowest) & (signed(rhs, op.element) == -1)):
        machine.undefined(undefined_behaviour.quotient(str(op.element)))


@interprets("divi", elementwise=True)
def _divi(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    _check_division(op, machine, lhs, rhs)
    a, b, negative_a, negative_b = _magnitudes(op, lhs, rhs)
    quotient, negative = a // b, negative_a ^ negative_b
    inexact = a - quotient * b != 0
    away = {"negative_inf": inexact & negative, "positive_inf": inexact & ~negative}.get(op["rounding"], False)
    quotient = quotient + np.asarray(away).astype(np.uint64)
    quotient = np.where(negative, np.negative(quotient), quotient)
    # A GPU's quotient by zero has all bits set.
    return wrap(np.where(unsigned(rhs, op.element) == 0, ~np.uint64(0), quotient), op.element)


@interprets("remi", elementwise=True)
def _remi(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    _check_division(op, machine, lhs, rhs)
    a, b, negative_a, _ = _magnitudes(op, lhs, rhs)
    remainder = np.where(unsigned(rhs, op.element) == 0, a, a % b)
    return wrap(np.where(negative_a, np.negative(remainder), remainder), op.element)


@interprets("maxi", "mini", elementwise=True)
def _minimum_or_maximum(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    choose = np.maximum if op.name == "cuda_tile.maxi" else np.minimum
    return wrap(choose(*(reading(tile, op.element, op["signedness"]) for tile in (lhs, rhs))), op.element)


@interprets("cmpi", elementwise=True)
def _cmpi(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    a, b = (reading(tile, op.types[0].element, op["signedness"]) for tile in (lhs, rhs))
    return PREDICATES[op["comparison_predicate"]](a, b)


def _amount(op: Step, machine: Machine, rhs: Tile) -> tuple[Tile, Tile]:
    """The shift amounts, clamped to width - 1, and a mask of the larger ones, for which a GPU shifts every bit out."""
    amount = np.asarray(unsigned(rhs, op.element)).astype(np.uint64)
    over = amount >= op.element.width
    if machine.check and over.any():
        found = amount[over].flat[0]
        machine.undefined(f"{undefined_behaviour.shift_amount(str(op.element), op.element.width)}, got {found}")
    return np.where(over, np.uint64(op.element.width - 1), amount), over


@interprets("shli", elementwise=True)
def _shli(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    amount, over = _amount(op, machine, rhs)
    check_overflow(op, machine, lhs, amount)
    shifted = np.asarray(unsigned(lhs, op.element)).astype(np.uint64) << amount
    return wrap(np.where(over, np.uint64(0), shifted), op.element)


@interprets("shri", elementwise=True)
def _shri(op: Step, machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    amount, over = _amount(op, machine, rhs)
    if op["signedness"] == "signed":
        return wrap(np.asarray(signed(lhs, op.element)).astype(np.int64) >> amount.astype(np.int64), op.element)
    return wrap(np.where(over, 0, unsigned(lhs, op.element).astype(np.uint64) >> amount), op.element)
