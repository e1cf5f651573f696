"""Divisions of many f32 elements by one divisor: a reciprocal, and three instructions per element.

For y = RN(1 / s) and q = RN(x * y), the quotient RN(x / s) is RN(q + y * (x - s * q)), if nothing overflows or
underflows (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor is
known in advance", IEEE Transactions on Computers 53, 2004). `div.rn.f32` has about twelve instructions, one of MUFU.
A warp with an operand outside of the safe range divides each element by `div.rn.f32`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_floats import pair_of
from tilec.lowering.shared_divisor import LEAST_ELEMENTS

# Divisors in [2^-20, 2^20] and dividends of magnitudes in [2^-100, 2^100] have quotients and, with 2^-46 of the
# dividend as last digit, remainders in the range of normal and exact numbers.
_LEAST_DIVISOR, _LARGEST_DIVISOR = "0f35800000", "0f49800000"
_LARGEST_DIVIDEND = "0f71800000"
# Twice the bits of 2^-100, less one: without the sign, and zero is the largest number.
_LEAST_DIVIDEND_CODE = 2 * (27 << 23) - 1

Column = tuple[ir.Value, ir.Value]


def shares_divisors(lowering: Lowering, columns: Sequence[Column]) -> bool:
    """Whether each divisor has enough dividends among these pairs of registers, and no wgmma has its own in flight."""
    counts = Counter(divisor for _, divisor in columns)
    return bool(columns) and min(counts.values()) >= LEAST_ELEMENTS and not lowering.in_flight


def divide_by_shared(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients of distinct pairs (dividend, divisor) of f32 registers."""
    safe = _is_safe(lowering, columns)
    fast, slow = lowering.b.block(label="divide_by_reciprocal"), lowering.b.block(label="divide")
    done = lowering.b.block([lowering.type("f32")] * len(columns), "divided")
    lowering.b.cond_branch(safe, fast, [], slow, [], uniform=True)
    for block, divide in ((fast, _by_reciprocals), (slow, _one_by_one)):
        lowering.at(block)
        lowering.b.branch(done, *divide(lowering, columns))
    lowering.at(done)
    return list(done.arguments)


def _is_safe(lowering: Lowering, columns: Sequence[Column]) -> ir.Value:
    """Whether all operands of the warp are in the safe range: the predicate is the same in all of its threads."""
    dividends = list(dict.fromkeys(dividend for dividend, _ in columns))
    divisors = list(dict.fromkeys(divisor for _, divisor in columns))
    codes = [lowering.compute("mad.lo.s32 $0, $1, 2, -1;", "i32", _bits(lowering, each)) for each in dividends]
    magnitudes = [lowering.compute("abs.f32 $0, $1;", "f32", each) for each in dividends]
    least, largest = _reduced(lowering, "min.u32", "i32", codes), _reduced(lowering, "max.NaN.f32", "f32", magnitudes)
    safe = lowering.compute(f"setp.ge.u32 $0, $1, {_LEAST_DIVIDEND_CODE};", "i1", least)
    limits = [("le", largest, _LARGEST_DIVIDEND)]
    limits.append(("ge", _reduced(lowering, "min.NaN.f32", "f32", divisors), _LEAST_DIVISOR))
    limits.append(("le", _reduced(lowering, "max.NaN.f32", "f32", divisors), _LARGEST_DIVISOR))
    for comparison, register, limit in limits:
        safe = lowering.compute(f"setp.{comparison}.and.f32 $0, $1, {limit}, $2;", "i1", register, safe)
    return lowering.b.execute("vote.sync.all.pred $0, $1, 0xffffffff;", lowering.type("i1"), safe)


def _bits(lowering: Lowering, register: ir.Value) -> ir.Value:
    return lowering.compute("mov.b32 $0, $1;", "i32", register)


def _reduced(lowering: Lowering, name: str, register: str, values: list[ir.Value]) -> ir.Value:
    """The least or largest of the values, from pairs, so that few instructions depend on each other."""
    while len(values) > 1:
        pairs = zip(values[0::2], values[1::2], strict=False)
        rest = values[-1:] if len(values) % 2 else []
        values = [lowering.compute(f"{name} $0, $1, $2;", register, *pair) for pair in pairs] + rest
    return values[0]


def _one_by_one(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    return [lowering.compute("div.rn.f32 $0, $1, $2;", "f32", *column) for column in columns]


def _by_reciprocals(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    reciprocals = {
        divisor: lowering.compute("rcp.rn.f32 $0, $1;", "f32", divisor)
        for divisor in dict.fromkeys(divisor for _, divisor in columns)
    }
    negated = {
        divisor: lowering.compute("neg.f32 $0, $1;", "f32", reciprocal) for divisor, reciprocal in reciprocals.items()
    }
    quotients = _in_pairs(lowering, "mul", [(x, reciprocals[s]) for x, s in columns])
    # s * q - x, not x - s * q: their signs of zero make the quotient of -0 negative.
    errors = [
        lowering.compute("fma.rn.f32 $0, $1, $2, $3;", "f32", s, q, lowering.compute("neg.f32 $0, $1;", "f32", x))
        for (x, s), q in zip(columns, quotients, strict=True)
    ]
    corrections = [(error, negated[s], q) for (_, s), error, q in zip(columns, errors, quotients, strict=True)]
    return _in_pairs(lowering, "fma", corrections)


def _in_pairs(lowering: Lowering, name: str, rows: Sequence[tuple[ir.Value, ...]]) -> list[ir.Value]:
    """The function, rounded to nearest, of each row of operands; two rows by an instruction where the target has it."""
    paired = len(rows) - len(rows) % 2 if lowering.target.packs_floats else 0
    found: list[ir.Value] = []
    for low, high in zip(rows[0:paired:2], rows[1:paired:2], strict=True):
        found += pair_of(lowering, name, ["rn"], *zip(low, high, strict=True))
    operands = ", ".join(f"${number}" for number in range(len(rows[0]) + 1))
    return found + [lowering.compute(f"{name}.rn.f32 {operands};", "f32", *row) for row in rows[paired:]]
