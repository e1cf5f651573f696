"""math and tile_gpu.math (other roundings, approximations): the functions that PTX has instructions for."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import POLYNOMIAL_PARTS, MathOp
from tilec.lowering.exponential_polynomial import (
    COEFFICIENTS,
    FRACTION_BITS,
    GREATEST,
    LEAST,
    SHIFTER,
    is_polynomial,
)
from tilec.lowering.gpu_to_ptx.arithmetic.convert import CONVERSIONS
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import each, instruction, operands_text
from tilec.lowering.gpu_to_ptx.registers.extension import widened
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_floats import Pair, elementwise_pairs, packs, pair_of, scalar_of
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.value_types import element
from tilec.lowering.math.functions import function, integer_power

_FUNCTIONS = {
    "math.exp": "exp",
    "math.log": "log",
    "math.log2": "log2",
    "math.sin": "sin",
    "math.cos": "cos",
    "math.tan": "tan",
    "math.sinh": "sinh",
    "math.cosh": "cosh",
    "math.tanh": "tanh",
    "math.powf": "pow",
    "math.atan2": "atan2",
    "arith.remf": "fmod",
}
_LOG2_E = "0f3FB8AA3B"

# Upstream name -> instruction for f32 and f64; 16-bit floats compute in f32 and round once.
_INSTRUCTIONS = {
    "math.sqrt": {"f32": "sqrt.rn.f32", "f64": "sqrt.rn.f64"},
    "math.rsqrt": {"f32": "rsqrt.approx.f32"},
    "math.exp2": {"f32": "ex2.approx.f32"},
}
# Functions without an f64 instruction.
_CALLED = {"math.rsqrt": "rsqrt", "math.exp2": "exp2"}
# Instructions that exist for all widths.
_EXACT = {"math.fma": "fma.rn", "math.absf": "abs"}
_ROUNDED_TO_INTEGER = {"math.floor": "rmi", "math.ceil": "rpi", "math.trunc": "rzi", "math.roundeven": "rni"}
# Functions of tile_gpu.math whose PTX instruction is "<name>.<modifiers>.<type>".
_LITERAL = ("add", "sub", "mul", "fma", "div", "sqrt", "rsqrt", "max", "min", "tanh")
_RENAMED = {"exp2": "ex2", "log2": "lg2", "sin": "sin", "cos": "cos"}
# PTX ISA 9.7.4: the only modifiers that 16-bit arithmetic has.
_NARROW_MODIFIERS = {"rn", "ftz", "NaN", "approx"}
_DIRECTED = ("rz", "rm", "rp")


@lowers(*_EXACT)
def exact(lowering: Lowering, operation: ir.Operation) -> None:
    kind, (name, *modifiers) = element(operation.results[0]), _EXACT[operation.name].split(".")
    if packs(lowering, kind, name, modifiers):
        elementwise_pairs(lowering, operation, name, modifiers)
        return
    operands = operands_text(len(operation.operands))
    each(lowering, operation, instruction(lowering, f"{_EXACT[operation.name]}.{kind.suffix} {operands};", kind))


@lowers(*_INSTRUCTIONS)
def by_instruction(lowering: Lowering, operation: ir.Operation) -> None:
    kind, forms = element(operation.results[0]), _INSTRUCTIONS[operation.name]
    name = forms.get("f32" if kind.bits == 16 else kind.name)
    if name is None:
        _called(lowering, operation, _CALLED[operation.name])
    else:
        _in_f32(lowering, operation, kind, name)


@lowers(*_ROUNDED_TO_INTEGER)
def rounded_to_integer(lowering: Lowering, operation: ir.Operation) -> None:
    kind, mode = element(operation.results[0]), _ROUNDED_TO_INTEGER[operation.name]
    if kind.name == "bf16":
        _in_f32(lowering, operation, kind, f"cvt.{mode}.f32.f32")
    else:
        each(lowering, operation, instruction(lowering, f"cvt.{mode}.{kind.suffix}.{kind.suffix} $0, $1;", kind))


@lowers("math.absi")
def absi(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    if kind.is_predicate:
        each(lowering, operation, lambda a: a)
    elif kind.bits == 8:
        wide = "cvt.s16.s8 $0, $1;"
        each(
            lowering, operation, lambda a: lowering.compute("abs.s16 $0, $1;", "i16", lowering.compute(wide, "i16", a))
        )
    else:
        each(lowering, operation, instruction(lowering, f"abs.{kind.suffix} $0, $1;", kind))


@lowers(MathOp)
def tile_gpu_math(lowering: Lowering, operation: ir.Operation) -> None:
    """`function` is "name.modifier...", with the modifiers in the order of PTX."""
    kind, function = element(operation.results[0]), operation.attributes["function"].value
    base, *modifiers = function.split(".")
    if "polynomials" in operation.attributes:
        _emulated_exponential(lowering, operation, kind)
        return
    if base in CONVERSIONS:
        CONVERSIONS[base](lowering, operation, modifiers)
        return
    if base == "exp" and modifiers[0] == "approx":
        _exp_approx(lowering, operation, kind, "".join(f".{m}" for m in modifiers))
        return
    name = base if base in _LITERAL else _RENAMED.get(base)
    if name is None:
        raise lowering.unsupported(operation, f"unknown function '{function}'")
    if kind.bits == 16 and ("approx" in modifiers or not _NARROW_MODIFIERS.issuperset(modifiers)):
        directed = next((modifier for modifier in modifiers if modifier in _DIRECTED), "rn")
        _in_f32(lowering, operation, kind, ".".join((name, *modifiers, "f32")), directed)
        return
    if packs(lowering, kind, name, modifiers):
        elementwise_pairs(lowering, operation, name, modifiers)
        return
    text = ".".join((name, *modifiers, kind.suffix))
    each(lowering, operation, instruction(lowering, f"{text} {operands_text(len(operation.operands))};", kind))


def _exp_approx(lowering: Lowering, operation: ir.Operation, kind: PtxElement, modifiers: str) -> None:
    """exp(x) = 2^(x log2 e), like __expf in CUDA."""

    def step(a: ir.Value) -> ir.Value:
        scaled = lowering.compute(f"mul.rn.f32 $0, $1, {_LOG2_E};", "f32", _to_f32(lowering, kind, a))
        return _from_f32(lowering, kind, lowering.compute(f"ex2{modifiers}.f32 $0, $1;", "f32", scaled))

    each(lowering, operation, step)


@lowers(*_FUNCTIONS)
def _precise(lowering: Lowering, operation: ir.Operation) -> None:
    _called(lowering, operation, _FUNCTIONS[operation.name])


def _called(lowering: Lowering, operation: ir.Operation, name: str) -> None:
    """Applies a device function to f32 or f64; 16-bit floats are widened and the result is rounded once."""
    kind = element(operation.results[0])

    def step(*operands: ir.Value) -> ir.Value:
        wide = [_to_f32(lowering, kind, operand) for operand in operands]
        return _from_f32(lowering, kind, _call(lowering, name, wide))

    each(lowering, operation, step)


def _call(lowering: Lowering, name: str, operands: list[ir.Value]) -> ir.Value:
    """Calls a device function on f32 or f64 registers; the first call adds it to the module."""
    return function(name, str(operands[0].type), lowering.target.name).write(lowering.b, *operands)


@lowers("math.fpowi")
def _fpowi(lowering: Lowering, operation: ir.Operation) -> None:
    """Exponentiation by squaring in f32 or f64; 16-bit floats are widened and the result is rounded once."""
    kind, exponent = element(operation.results[0]), element(operation.operands[1])

    def step(base: ir.Value, power: ir.Value) -> ir.Value:
        wide, whole = _to_f32(lowering, kind, base), widened(lowering, exponent, True, power, 32)
        return _from_f32(lowering, kind, integer_power(str(wide.type)).write(lowering.b, wide, whole))

    each(lowering, operation, step)


def _emulated_exponential(lowering: Lowering, operation: ir.Operation, kind: PtxElement) -> None:
    """result register i = 2**(operand register i), for two distinct registers at a time: some by polynomials.

    So MUFU has fewer. Registers of one kind alternate with those of the other, so that both units have work.
    """
    registers = lowering.get(operation.operands[0])
    share = ir.IntegerAttr(operation.attributes["polynomials"]).value
    distinct = list(dict.fromkeys(registers))
    done: dict[ir.Value, ir.Value] = {}
    for number, (low, high) in enumerate(zip(distinct[0::2], distinct[1::2], strict=False)):
        if is_polynomial(number, share, POLYNOMIAL_PARTS):
            done[low], done[high] = _Polynomial(lowering, kind).of((low, high))
    for register in distinct:
        if register not in done:
            done[register] = lowering.compute("ex2.approx.ftz.f32 $0, $1;", "f32", register)
    lowering.set(operation.results[0], [done[register] for register in registers])


class _Polynomial:
    """The polynomials of two elements, by packed instructions where the target has them."""

    def __init__(self, lowering: Lowering, kind: PtxElement) -> None:
        self.lowering, self.kind = lowering, kind

    def of(self, arguments: Pair) -> Pair:
        """2**x of both."""
        low, high = map(self._clamped, arguments)
        # PTX ISA 9.7.3.3: .rm rounds to the integer below.
        shifted = self._apply("add", "rm", (low, high), self._constants(SHIFTER))
        whole = self._apply("add", "rn", shifted, self._constants(-SHIFTER))
        fraction = self._apply("sub", "rn", (low, high), whole)
        value = self._constants(COEFFICIENTS[-1])
        for coefficient in (*reversed(COEFFICIENTS[:-1]), 1.0):
            value = self._apply("fma", "rn", value, fraction, self._constants(coefficient))
        scales = self._power(shifted[0]), self._power(shifted[1])
        result = self._apply("mul", "rn", value, scales)
        # A product with a power of two is exact, and so is its contraction with a sum.
        self.lowering.sums.update(result)
        return result

    def _clamped(self, argument: ir.Value) -> ir.Value:
        """The argument within the exponents of f32; NaN remains NaN."""
        least, greatest = self._constant(LEAST), self._constant(GREATEST)
        above = self.lowering.compute("max.NaN.f32 $0, $1, $2;", "f32", argument, least)
        return self.lowering.compute("min.NaN.f32 $0, $1, $2;", "f32", above, greatest)

    def _power(self, shifted: ir.Value) -> ir.Value:
        """2**n, of which the low bits are the exponent."""
        return self.lowering.compute(f"shl.b32 $0, $1, {FRACTION_BITS};", "f32", shifted)

    def _apply(self, name: str, rounding: str, *operands: Pair) -> Pair:
        if self.lowering.target.packs_floats:
            return pair_of(self.lowering, name, [rounding], *operands)
        low, high = (scalar_of(self.lowering, name, [rounding], each) for each in zip(*operands, strict=True))
        return low, high

    def _constants(self, value: float) -> Pair:
        return self._constant(value), self._constant(value)

    def _constant(self, value: float) -> ir.Value:
        return self.lowering.constant(self.kind, value)


def _in_f32(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str, mode: str = "rn") -> None:
    """Applies an f32 (or f64) instruction to widened operands and rounds the result.

    In a directed mode f32 and the narrow type round in the same direction, which equals one rounding.
    """
    text = f"{name} {operands_text(len(operation.operands))};"

    def step(*operands: ir.Value) -> ir.Value:
        wide = [_to_f32(lowering, kind, operand) for operand in operands]
        return _from_f32(lowering, kind, lowering.compute(text, "f64" if kind.name == "f64" else "f32", *wide), mode)

    each(lowering, operation, step)


def _to_f32(lowering: Lowering, kind: PtxElement, register: ir.Value) -> ir.Value:
    """Widens a 16-bit float to f32; other types are unchanged."""
    return lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", register) if kind.bits == 16 else register


def _from_f32(lowering: Lowering, kind: PtxElement, register: ir.Value, mode: str = "rn") -> ir.Value:
    """Rounds f32 to a 16-bit float; other types are unchanged."""
    if kind.bits != 16:
        return register
    return lowering.compute(f"cvt.{mode}.{kind.suffix}.f32 $0, $1;", kind.register, register)
