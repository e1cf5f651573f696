"""Power-of-two divisors of values, from assumptions, constants and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilec.dialect.cuda_tile.attributes import DivByAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.tile_operations import counting_loop, producer, yields
from tilec.lowering.tile.analysis.value_analysis import analyze

# The divisor of zero, which every number divides.
UNBOUNDED = 1 << 62
# Globals and allocated memory are aligned to 16 bytes, the widest vector access, or more if they declare it.
GLOBAL_ALIGNMENT_BYTES = 16

Of = Callable[[ir.Value], int]
Rule = Callable[[ir.OpView, ir.Value, Of], int]


def divisibility(value: ir.Value) -> int:
    """The largest power of two known to divide every element of an integer tile, or every address (bytes); at least 1.

    Arithmetic wraps modulo a power of two, which preserves divisibility by smaller powers.
    """
    return analyze(value, _divisibility)


def divisor_of(number: Number) -> int:
    """A power of two that divides an integer; a known number itself."""
    return number if isinstance(number, int) else divisibility(number)


def _divisibility(value: ir.Value, of: Of) -> int:
    owner = value.owner
    if isinstance(owner, ir.Block):
        # An induction variable is the lower bound plus a multiple of the step; carried values are unknown.
        loop = counting_loop(value)
        return 1 if loop is None else math.gcd(of(loop.lowerBound), of(loop.step))
    rule = _RULES.get(owner.operation.name)
    return rule(owner, value, of) if rule is not None else 1


def _assume(op: ir.OpView, _: ir.Value, of: Of) -> int:
    known, predicate = of(op.value), op.predicate
    if isinstance(predicate, DivByAttr) and predicate.every is None:
        return max(known, predicate.divisor)
    return known


def _constant(op: ir.OpView, _: ir.Value, of: Of) -> int:
    elements = op.value
    if elements.is_splat:
        return power_of_two_in(int(elements.get_splat_value().value))
    return math.gcd(*(power_of_two_in(int(number)) for number in elements))


def power_of_two_in(number: int) -> int:
    """The largest power of two that divides a number."""
    return number & -number if number else UNBOUNDED


def _shifted(op: ir.OpView, _: ir.Value, of: Of) -> int:
    amount = splat(op.rhs)
    return of(op.lhs) if amount is None else min(UNBOUNDED, of(op.lhs) << max(0, amount))


def _quotient(op: ir.OpView, _: ir.Value, of: Of) -> int:
    divisor = splat(op.rhs)
    if divisor is None or divisor <= 0 or divisor & (divisor - 1):
        return 1
    return max(1, of(op.lhs) // divisor)


def _offset(op: ir.OpView, _: ir.Value, of: Of) -> int:
    factor, pointer = of(op.offset), op.ptr.type.element
    moved = factor // 2 if spell(pointer.element) == "f4E2M1FN" else factor * step_bytes(pointer)
    return math.gcd(of(op.ptr), max(1, min(UNBOUNDED, moved)))


def step_bytes(pointer: PointerType) -> int:
    """The bytes between consecutive elements; 1 for f4E2M1FN, whose elements fill half a byte."""
    name = spell(pointer.element)
    if name == "f4E2M1FN":
        return 1
    return 4 if name == "tf32" else -(-ELEMENT_BITS[name] // 8)


def _extent(op: ir.OpView, value: ir.Value, of: Of) -> int:
    """An extent is static, or an operand of the view."""
    axis, view = ir.OpResult(value).result_number, op.src
    known = view.type.shape[axis]
    if known is not None:
        return power_of_two_in(known)
    maker = producer(view, "make_tensor_view")
    return 1 if maker is None else of(maker.dynamicShape[view.type.shape[:axis].count(None)])


def _branches(op: ir.OpView, value: ir.Value, of: Of) -> int:
    at = ir.OpResult(value).result_number
    # A branch that ends in break, continue or return yields no value.
    return math.gcd(*(of(end.operands[at]) for end in yields(op))) or UNBOUNDED


def _named(*names: str) -> tuple[str, ...]:
    return tuple(f"cuda_tile.{name}" for name in names)


_COMMON = _named("addi", "subi", "maxi", "mini", "remi", "ori", "xori", "cat")
_FORWARDED = (
    *_named("negi", "absi", "exti", "trunci", "int_to_ptr", "ptr_to_int", "ptr_to_ptr"),
    *_named("broadcast", "reshape", "permute", "extract"),
)
_RULES: dict[str, Rule] = {
    "cuda_tile.assume": _assume,
    "cuda_tile.constant": _constant,
    **dict.fromkeys(_COMMON, lambda op, value, of: math.gcd(*map(of, op.operation.operands))),
    **dict.fromkeys(_FORWARDED, lambda op, value, of: of(op.operation.operands[0])),
    "cuda_tile.andi": lambda op, value, of: max(map(of, op.operation.operands)),
    "cuda_tile.muli": lambda op, value, of: min(UNBOUNDED, math.prod(map(of, op.operation.operands))),
    "cuda_tile.shli": _shifted,
    "cuda_tile.divi": _quotient,
    "cuda_tile.select": lambda op, value, of: math.gcd(of(op.val_if_true), of(op.val_if_false)),
    "cuda_tile.offset": _offset,
    "cuda_tile.alloca": lambda op, value, of: max(op.alignment, GLOBAL_ALIGNMENT_BYTES),
    "cuda_tile.get_global": lambda op, value, of: GLOBAL_ALIGNMENT_BYTES,
    "cuda_tile.get_tensor_shape": _extent,
    "cuda_tile.if": _branches,
}
