"""math and tile_gpu.math (other roundings, approximations): the functions that PTX has instructions for."""

from __future__ import annotations

import struct

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import FLUSHING_EXP2, MathOp
from tilec.lowering.gpu_to_ptx.arithmetic.convert import CONVERSIONS
from tilec.lowering.gpu_to_ptx.arithmetic.emulated_exponentials import exact_exponentials, flushing_exponentials
from tilec.lowering.gpu_to_ptx.arithmetic.flushed_functions import by_flushing, flushes
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element
from tilec.lowering.gpu_to_ptx.registers.elementwise import (
    Column,
    Pair,
    Step,
    each,
    each_distinct,
    elementwise_pairs,
    instruction,
    packs,
    pair_of,
)
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import widened
from tilec.lowering.math.functions import MathFunction, function, integer_power

_NAMES = ("exp", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan2")
# Functions that are calls of device functions.
_FUNCTIONS = {f"math.{name}": name for name in _NAMES} | {"math.powf": "pow", "arith.remf": "fmod"}
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
    _by_name(lowering, operation, kind, name, modifiers)


def _by_name(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str, modifiers: list[str]) -> None:
    """Applies the instruction "<name>.<modifiers>.<type>", to two elements at once where the target can."""
    if packs(lowering, kind, name, modifiers):
        elementwise_pairs(lowering, operation, kind, name, modifiers)
        return
    text = f"{'.'.join((name, *modifiers, kind.suffix))} {operands(1 + len(operation.operands))};"
    each(lowering, operation, instruction(lowering, text, kind))


@lowers(*_INSTRUCTIONS)
def by_instruction(lowering: Lowering, operation: ir.Operation) -> None:
    kind, forms = element(operation.results[0]), _INSTRUCTIONS[operation.name]
    name = forms.get("f32" if kind.bits == 16 else kind.name)
    if kind.name == "f32" and flushes(lowering, operation):
        by_flushing(lowering, operation)
    elif name is None:
        _called(lowering, operation, _CALLED[operation.name])
    else:
        _instruction_in_f32(lowering, operation, name)


@lowers(*_ROUNDED_TO_INTEGER)
def rounded_to_integer(lowering: Lowering, operation: ir.Operation) -> None:
    kind, mode = element(operation.results[0]), _ROUNDED_TO_INTEGER[operation.name]
    if kind.name == "bf16":
        _instruction_in_f32(lowering, operation, f"cvt.{mode}.f32.f32")
    else:
        each(lowering, operation, instruction(lowering, f"cvt.{mode}.{kind.suffix}.{kind.suffix} $0, $1;", kind))


@lowers("math.absi")
def absi(lowering: Lowering, operation: ir.Operation) -> None:
    kind = element(operation.results[0])
    if kind.is_predicate:
        each(lowering, operation, lambda a: a)
    elif kind.bits == 8:
        wide = instruction(lowering, "cvt.s16.s8 $0, $1;", kind)
        each(lowering, operation, lambda a: lowering.compute("abs.s16 $0, $1;", "i16", wide(a)))
    else:
        each(lowering, operation, instruction(lowering, f"abs.{kind.suffix} $0, $1;", kind))


@lowers(MathOp)
def tile_gpu_math(lowering: Lowering, operation: ir.Operation) -> None:
    """`function` is "name.modifier...", with the modifiers in the order of PTX."""
    kind, function = element(operation.results[0]), operation.attributes["function"].value
    base, *modifiers = function.split(".")
    if "polynomials" in operation.attributes:
        share = ir.IntegerAttr(operation.attributes["polynomials"]).value
        exponentials = flushing_exponentials if function == FLUSHING_EXP2 else exact_exponentials
        each_distinct(lowering, operation, lambda columns: exponentials(lowering, kind, share, columns))
        return
    if base in CONVERSIONS:
        CONVERSIONS[base](lowering, operation, modifiers)
        return
    if base == "exp" and modifiers[0] == "approx":
        _exp_approx(lowering, operation, "".join(f".{m}" for m in modifiers))
        return
    name = base if base in _LITERAL else _RENAMED.get(base)
    if name is None:
        raise lowering.unsupported(operation, f"unknown function '{function}'")
    if kind.bits == 16 and ("approx" in modifiers or not _NARROW_MODIFIERS.issuperset(modifiers)):
        directed = next((modifier for modifier in modifiers if modifier in _DIRECTED), "rn")
        _instruction_in_f32(lowering, operation, ".".join((name, *modifiers, "f32")), directed)
    else:
        _by_name(lowering, operation, kind, name, modifiers)


def _exp_approx(lowering: Lowering, operation: ir.Operation, modifiers: str) -> None:
    """exp(x) = 2^(x log2 e), like __expf in CUDA."""

    def step(a: ir.Value) -> ir.Value:
        scaled = lowering.compute(f"mul.rn.f32 $0, $1, {_LOG2_E};", "f32", a)
        return lowering.compute(f"ex2{modifiers}.f32 $0, $1;", "f32", scaled)

    _in_f32(lowering, operation, step)


@lowers(*_FUNCTIONS)
def _precise(lowering: Lowering, operation: ir.Operation) -> None:
    _called(lowering, operation, _FUNCTIONS[operation.name])


def _called(lowering: Lowering, operation: ir.Operation, name: str) -> None:
    """Calls a device function on f32 or f64 registers; the first call adds it to the module."""
    kind = element(operation.results[0])
    if kind.name == "f32" and lowering.target.packs_floats and len(operation.operands) == 1:
        found = function(name, "f32", lowering.target.name)
        if found.packed:
            each_distinct(lowering, operation, lambda columns: _written_in_pairs(lowering, kind, found, columns))
            return

    def step(*wide: ir.Value) -> ir.Value:
        return function(name, str(wide[0].type), lowering.target.name).write(lowering.b, *wide)

    _in_f32(lowering, operation, step)


def _written_in_pairs(
    lowering: Lowering, kind: PtxElement, found: MathFunction, columns: list[Column]
) -> list[ir.Value]:
    """A function of columns of one f32 register; its packed steps compute two columns at once, with equal results."""
    results = list[ir.Value]()
    for (low,), (high,) in zip(columns[0::2], columns[1::2], strict=False):
        values = [(low, high)]
        for number, step in enumerate(found.steps):
            operands_of_step = [values[operand] for operand in step.operands]
            packed = found.packed.get(number)
            if packed is None:
                first, second = (
                    lowering.compute(step.text, step.type, *registers)
                    for registers in zip(*operands_of_step, strict=True)
                )
                values.append((first, second))
                continue
            pairs = [_pair_of_operand(lowering, kind, operand, operands_of_step) for operand in packed.operands]
            values.append(pair_of(lowering, packed.name, [packed.rounding], *pairs))
        results += values[-1]
    return results + [found.write(lowering.b, *column) for column in columns[len(results) :]]


def _pair_of_operand(lowering: Lowering, kind: PtxElement, operand: str, values: list[Pair]) -> Pair:
    """Both values of an operand of a packed step."""
    if operand.startswith("$"):
        return values[int(operand[1:]) - 1]
    (number,) = struct.unpack("!f", bytes.fromhex(operand.removeprefix("0f")))
    constant = lowering.constant(kind, number)
    return constant, constant


@lowers("math.fpowi")
def _fpowi(lowering: Lowering, operation: ir.Operation) -> None:
    """Exponentiation by squaring."""
    exponent = element(operation.operands[1])

    def step(base: ir.Value, power: ir.Value) -> ir.Value:
        whole = widened(lowering, exponent, True, power, 32)
        return integer_power(str(base.type)).write(lowering.b, base, whole)

    _in_f32(lowering, operation, step)


def _instruction_in_f32(lowering: Lowering, operation: ir.Operation, name: str, mode: str = "rn") -> None:
    """Applies an f32 (or f64) instruction.

    In a directed mode f32 and the narrow type round in the same direction, which equals one rounding.
    """
    register = "f64" if element(operation.results[0]).name == "f64" else "f32"
    text = f"{name} {operands(1 + len(operation.operands))};"
    _in_f32(lowering, operation, lambda *wide: lowering.compute(text, register, *wide), mode)


def _in_f32(lowering: Lowering, operation: ir.Operation, step: Step, mode: str = "rn") -> None:
    """Applies a step to elements of f32 or f64; 16-bit floats are widened to f32, and the result is rounded once."""
    kind = element(operation.results[0])
    if kind.bits != 16:
        each(lowering, operation, step)
        return
    kinds = [element(operand) for operand in operation.operands]

    def in_f32(*column: ir.Value) -> ir.Value:
        wide = [
            lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", a) if own == kind else a
            for own, a in zip(kinds, column, strict=True)
        ]
        return lowering.compute(f"cvt.{mode}.{kind.suffix}.f32 $0, $1;", kind.register, step(*wide))

    each(lowering, operation, in_f32)
