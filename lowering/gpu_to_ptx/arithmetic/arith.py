"""arith on scalars and register tiles: each operation rounds once; explicit .rn prevents contraction."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.upstream_predicates import predicate_of
from tilec.lowering.gpu_to_ptx.arithmetic.constant_division import divide_by_constant
from tilec.lowering.gpu_to_ptx.arithmetic.dense_constant import dense_constant
from tilec.lowering.gpu_to_ptx.arithmetic.position_masks import by_words, combine_masks, compare_positions, test_again
from tilec.lowering.gpu_to_ptx.arithmetic.shared_divisor import divide_by_shared, shares_divisors
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import each, instruction
from tilec.lowering.gpu_to_ptx.registers.extension import extended, lowest_bit
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_floats import elementwise_pairs, packs
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.value_types import element, layout_of

_FLOAT_BINARY = {
    "arith.addf": "add.rn",
    "arith.subf": "sub.rn",
    "arith.mulf": "mul.rn",
    "arith.maximumf": "max.NaN",
    "arith.minimumf": "min.NaN",
    "arith.maxnumf": "max",
    "arith.minnumf": "min",
}
# The setp comparisons of the predicates of arith.cmpf; "false" and "true" compare nothing.
_FLOAT_COMPARISONS = {
    "oeq": "eq",
    "ogt": "gt",
    "oge": "ge",
    "olt": "lt",
    "ole": "le",
    "one": "ne",
    "ord": "num",
    "ueq": "equ",
    "ugt": "gtu",
    "uge": "geu",
    "ult": "ltu",
    "ule": "leu",
    "une": "neu",
    "uno": "nan",
}
# The setp comparisons of the predicates of arith.cmpi, and whether the operands are signed.
_INTEGER_COMPARISONS = {
    "eq": ("eq", True),
    "ne": ("ne", True),
    "slt": ("lt", True),
    "sle": ("le", True),
    "sgt": ("gt", True),
    "sge": ("ge", True),
    "ult": ("lt", False),
    "ule": ("le", False),
    "ugt": ("gt", False),
    "uge": ("ge", False),
}
_BITWISE = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
# Instructions, and whether their operands are signed; 8 bits are extended first.
_EXTREMES = {
    "arith.maxsi": ("max", True),
    "arith.minsi": ("min", True),
    "arith.maxui": ("max", False),
    "arith.minui": ("min", False),
}
_DIVISIONS = {
    "arith.divsi": ("div", True),
    "arith.remsi": ("rem", True),
    "arith.divui": ("div", False),
    "arith.remui": ("rem", False),
}


@lowers("arith.constant")
def constant(lowering: Lowering, operation: ir.Operation) -> None:
    result, value = operation.results[0], operation.attributes["value"]
    if isinstance(result.type, ir.RankedTensorType):
        dense = ir.DenseElementsAttr(value)
        if not dense.is_splat:
            lowering.set(result, dense_constant(lowering, dense, element(result), layout_of(result.type)))
            return
        value = dense.get_splat_value()
    lowering.set(result, [lowering.constant(element(result), value.value)] * layout_of(result.type).register_count)


@lowers(*_FLOAT_BINARY)
def float_binary(lowering: Lowering, operation: ir.Operation) -> None:
    kind, name = element(operation.results[0]), _FLOAT_BINARY[operation.name]
    function, *modifiers = name.split(".")
    if kind.name == "f64" and name.endswith(".NaN"):
        each(lowering, operation, lambda a, b: _extremum_f64(lowering, function, a, b))
    elif packs(lowering, kind, function, modifiers):
        elementwise_pairs(lowering, operation, function, modifiers)
    else:
        each(lowering, operation, instruction(lowering, f"{name}.{kind.suffix} $0, $1, $2;", kind))


def _extremum_f64(lowering: Lowering, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """PTX ISA 9.7.3.12: max.NaN and min.NaN have no f64 form; a + b carries the NaN."""
    ordered = lowering.compute("setp.num.f64 $0, $1, $2;", "i1", a, b)
    found = lowering.compute(f"{name}.f64 $0, $1, $2;", "f64", a, b)
    nan = lowering.compute("add.rn.f64 $0, $1, $2;", "f64", a, b)
    return lowering.compute("selp.f64 $0, $1, $2, $3;", "f64", found, nan, ordered)


@lowers("arith.divf")
def divf(lowering: Lowering, operation: ir.Operation) -> None:
    """Divides 16-bit floats in f32: 24 bits are at least 2 * 11 + 2, so the second rounding has no effect."""
    kind = element(operation.results[0])
    if kind.name == "f32" and _divides_by_shared(lowering, operation):
        return
    if kind.bits > 16:
        each(lowering, operation, instruction(lowering, f"div.rn.{kind.suffix} $0, $1, $2;", kind))
        return

    def divide(a: ir.Value, b: ir.Value) -> ir.Value:
        wide = [lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", x) for x in (a, b)]
        quotient = lowering.compute("div.rn.f32 $0, $1, $2;", "f32", *wide)
        return lowering.compute(f"cvt.rn.{kind.suffix}.f32 $0, $1;", kind.register, quotient)

    each(lowering, operation, divide)


def _divides_by_shared(lowering: Lowering, operation: ir.Operation) -> bool:
    """Divides f32 elements by the divisors that they share, if they are enough for each."""
    columns = list(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    distinct = list(dict.fromkeys(columns))
    if not shares_divisors(lowering, distinct):
        return False
    quotients = dict(zip(distinct, divide_by_shared(lowering, distinct), strict=True))
    lowering.set(operation.results[0], [quotients[column] for column in columns])
    return True


@lowers("arith.negf")
def negf(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    each(lowering, operation, instruction(lowering, f"neg.{kind.suffix} $0, $1;", kind))


@lowers("arith.addi", "arith.subi", "arith.muli")
def integer_binary(lowering: Lowering, operation: ir.Operation) -> None:
    kind, name = element(operation.results[0]), operation.name[6:9]
    if kind.is_predicate:
        text = f"{'and' if name == 'mul' else 'xor'}.pred $0, $1, $2;"
    else:
        text = f"{'mul.lo' if name == 'mul' else name}.{kind.suffix} $0, $1, $2;"
    each(lowering, operation, instruction(lowering, text, kind))


@lowers("arith.mului_extended")
def product_halves(lowering: Lowering, operation: ir.Operation) -> None:
    """The low and the high half of the unsigned product."""
    kind = element(operation.results[0])
    columns = list(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    for result, half in zip(operation.results, (_low_half, _high_half), strict=True):
        lowering.set(result, [half(lowering, kind, a, b) for a, b in columns])


def _low_half(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.is_predicate:
        return lowering.compute("and.pred $0, $1, $2;", "i1", a, b)
    return lowering.compute(f"mul.lo.u{kind.register_bits} $0, $1, $2;", kind.register, a, b)


def _high_half(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.is_predicate:
        return lowering.constant(kind, 0)
    if kind.bits > 8:
        return lowering.compute(f"mul.hi.u{kind.bits} $0, $1, $2;", kind.register, a, b)
    product = _low_half(lowering, kind, *(extended(lowering, kind, False, x) for x in (a, b)))
    return lowering.compute("shr.u16 $0, $1, 8;", "i16", product)


@lowers(*_BITWISE)
def bitwise(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    name = _BITWISE[operation.name]
    plain = instruction(lowering, f"{name}.{kind.register_suffix} $0, $1, $2;", kind)
    each(lowering, operation, lambda a, b: combine_masks(lowering, name, a, b) or plain(a, b))


def each_integer(lowering: Lowering, operation: ir.Operation, signed: bool, rule: Callable[..., ir.Value]) -> None:
    """result = rule(lowering, kind, a, b) on operands extended to their registers; i1 computes in 32 bits."""
    kind = element(operation.results[0])
    wide = ELEMENTS["i32"] if kind.is_predicate else kind

    def step(*operands: ir.Value) -> ir.Value:
        result = rule(lowering, wide, *(extended(lowering, kind, signed, operand) for operand in operands))
        return result if wide == kind else lowest_bit(lowering, wide, result)

    each(lowering, operation, step)


@lowers(*_EXTREMES)
def extreme(lowering: Lowering, operation: ir.Operation) -> None:
    name, signed = _EXTREMES[operation.name]
    each_integer(
        lowering,
        operation,
        signed,
        lambda lowering, kind, a, b: lowering.compute(
            f"{name}.{'s' if signed else 'u'}{kind.register_bits} $0, $1, $2;", kind.register, a, b
        ),
    )


@lowers(*_DIVISIONS)
def division(lowering: Lowering, operation: ir.Operation) -> None:
    name, signed = _DIVISIONS[operation.name]
    each_integer(lowering, operation, signed, lambda lowering, kind, a, b: _divided(lowering, kind, name, signed, a, b))


def _divided(lowering: Lowering, kind: PtxElement, name: str, signed: bool, a: ir.Value, b: ir.Value) -> ir.Value:
    """The quotient rounded toward zero (`div`) or the remainder (`rem`)."""
    known = divide_by_constant(lowering, name, signed, a, b) if kind.register_bits == 64 else None
    if known is not None:
        return known
    return lowering.compute(f"{name}.{'s' if signed else 'u'}{kind.register_bits} $0, $1, $2;", kind.register, a, b)


@lowers("arith.floordivsi", "arith.ceildivsi")
def rounded_division(lowering: Lowering, operation: ir.Operation) -> None:
    """Shifts by powers of two; otherwise adjusts the quotient of the division toward zero if it is inexact."""
    up = operation.name == "arith.ceildivsi"

    def divide(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
        divisor = lowering.number(b)
        if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            return _shifted(lowering, kind, up, a, divisor)
        return _stepped(lowering, kind, up, a, b)

    each_integer(lowering, operation, True, divide)


def _shifted(lowering: Lowering, kind: PtxElement, up: bool, a: ir.Value, divisor: int) -> ir.Value:
    """An arithmetic shift rounds down; rounding up adds one if a dropped bit is set."""
    bits, register, shift = kind.register_bits, kind.register, divisor.bit_length() - 1
    quotient = lowering.compute(f"shr.s{bits} $0, $1, {shift};", register, a) if shift else a
    if not up or not shift:
        return quotient
    rest = lowering.compute(f"and.b{bits} $0, $1, {divisor - 1};", register, a)
    one = lowering.compute(f"min.u{bits} $0, $1, 1;", register, rest)
    return lowering.compute(f"add.s{bits} $0, $1, $2;", register, quotient, one)


def _stepped(lowering: Lowering, kind: PtxElement, up: bool, a: ir.Value, b: ir.Value) -> ir.Value:
    """Subtracts one if the remainder is nonzero and the signs differ, or adds one if they agree."""
    bits, register = kind.register_bits, kind.register
    quotient = _divided(lowering, kind, "div", True, a, b)
    product = lowering.compute(f"mul.lo.s{bits} $0, $1, $2;", register, quotient, b)
    signs = lowering.compute(f"xor.b{bits} $0, $1, $2;", register, a, b)
    inexact = lowering.compute(f"setp.ne.s{bits} $0, $1, $2;", "i1", product, a)
    step = lowering.compute(f"setp.{'ge' if up else 'lt'}.and.s{bits} $0, $1, 0, $2;", "i1", signs, inexact)
    moved = lowering.compute(f"add.s{bits} $0, $1, {1 if up else -1};", register, quotient)
    return lowering.compute(f"selp.b{bits} $0, $1, $2, $3;", register, moved, quotient, step)


@lowers("arith.ceildivui")
def unsigned_ceiling_division(lowering: Lowering, operation: ir.Operation) -> None:
    def divide(lowering: Lowering, kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
        bits, register = kind.register_bits, kind.register
        quotient = _divided(lowering, kind, "div", False, a, b)
        product = lowering.compute(f"mul.lo.u{bits} $0, $1, $2;", register, quotient, b)
        inexact = lowering.compute(f"setp.ne.u{bits} $0, $1, $2;", "i1", product, a)
        more = lowering.compute(f"add.u{bits} $0, $1, 1;", register, quotient)
        return lowering.compute(f"selp.b{bits} $0, $1, $2, $3;", register, more, quotient, inexact)

    each_integer(lowering, operation, False, divide)


@lowers("arith.shli", "arith.shrsi", "arith.shrui")
def shift(lowering: Lowering, operation: ir.Operation) -> None:
    """PTX ISA 9.7.8.7: the shift amount has 32 bits for every operand type."""
    kind, name = element(operation.results[0]), operation.name
    signed = name == "arith.shrsi"
    wide = ELEMENTS["i32"] if kind.is_predicate else kind
    text = f"{'shl.b' if name == 'arith.shli' else 'shr.s' if signed else 'shr.u'}{wide.register_bits} $0, $1, $2;"

    def step(a: ir.Value, amount: ir.Value) -> ir.Value:
        value = extended(lowering, kind, signed, a)
        result = lowering.compute(
            text, wide.register, value, _amount(lowering, wide, extended(lowering, kind, False, amount))
        )
        return result if wide == kind else lowest_bit(lowering, wide, result)

    each(lowering, operation, step)


def _amount(lowering: Lowering, kind: PtxElement, amount: ir.Value) -> ir.Value | int:
    known = lowering.number(amount)
    if known is not None:
        return known
    return amount if kind.name == "i32" else lowering.compute(f"cvt.u32.u{kind.register_bits} $0, $1;", "i32", amount)


@lowers("arith.cmpi")
def cmpi(lowering: Lowering, operation: ir.Operation) -> None:
    if compare_positions(lowering, operation):
        return
    kind = element(operation.operands[0])
    name, signed = _INTEGER_COMPARISONS[predicate_of(operation)]
    text = f"setp.{name}.{'s' if signed else 'u'}{max(16, kind.register_bits) if kind.bits > 1 else 32} $0, $1, $2;"

    def step(a: ir.Value, b: ir.Value) -> ir.Value:
        return lowering.compute(text, "i1", *(extended(lowering, kind, signed, x) for x in (a, b)))

    each(lowering, operation, step)


@lowers("arith.cmpf")
def cmpf(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.operands[0])
    predicate = predicate_of(operation)
    comparison = _FLOAT_COMPARISONS.get(predicate)
    if comparison is None:
        false_or_true = lowering.constant(ELEMENTS["i1"], int(predicate == "true"))
        each(lowering, operation, lambda a, b: false_or_true)
    else:
        each(
            lowering,
            operation,
            lambda a, b: lowering.compute(f"setp.{comparison}.{kind.suffix} $0, $1, $2;", "i1", a, b),
        )


@lowers("arith.select")
def select(lowering: Lowering, operation: ir.Operation) -> None:
    """Selects per element, or between whole tiles if the condition is a scalar."""
    kind = element(operation.results[0])
    condition, *values = (lowering.get(operand) for operand in operation.operands)
    conditions = condition * len(values[0]) if len(condition) == 1 else condition
    columns = list(zip(conditions, *values, strict=True))
    chosen = {at: _chosen(lowering, kind, *columns[at]) for at in by_words(lowering, conditions)}
    lowering.set(operation.results[0], [chosen[at] for at in range(len(columns))])


def _chosen(lowering: Lowering, kind: PtxElement, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    return choose(lowering, kind, test_again(lowering, condition), a, b)


def choose(lowering: Lowering, kind: PtxElement, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """a if the condition is true, else b."""
    if kind.is_predicate:
        integers = [lowering.compute("selp.b32 $0, 1, 0, $1;", "i32", x) for x in (a, b)]
        chosen = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", *integers, condition)
        return lowering.compute("setp.ne.b32 $0, $1, 0;", "i1", chosen)
    return lowering.compute(f"selp.{kind.register_suffix} $0, $1, $2, $3;", kind.register, a, b, condition)
