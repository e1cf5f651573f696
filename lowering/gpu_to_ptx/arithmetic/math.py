"""math and tile_gpu.math (other roundings, approximations): the functions that PTX has instructions for."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import MathOp
from tilec.lowering.gpu_to_ptx.arithmetic.convert import CONVERSIONS
from tilec.lowering.gpu_to_ptx.arithmetic.emulated_exponential import emulated_exponential
from tilec.lowering.gpu_to_ptx.arithmetic.precise import called
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.elementwise import each, instruction, operands_text
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.narrow_float import from_f32, in_f32, to_f32
from tilec.lowering.gpu_to_ptx.registers.packed_floats import elementwise_pairs, packs
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.value_types import element

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
        called(lowering, operation, _CALLED[operation.name])
    else:
        in_f32(lowering, operation, kind, name)


@lowers(*_ROUNDED_TO_INTEGER)
def rounded_to_integer(lowering: Lowering, operation: ir.Operation) -> None:
    kind, mode = element(operation.results[0]), _ROUNDED_TO_INTEGER[operation.name]
    if kind.name == "bf16":
        in_f32(lowering, operation, kind, f"cvt.{mode}.f32.f32")
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
        emulated_exponential(lowering, operation, kind)
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
        in_f32(lowering, operation, kind, ".".join((name, *modifiers, "f32")), directed)
        return
    if packs(lowering, kind, name, modifiers):
        elementwise_pairs(lowering, operation, name, modifiers)
        return
    text = ".".join((name, *modifiers, kind.suffix))
    each(lowering, operation, instruction(lowering, f"{text} {operands_text(len(operation.operands))};", kind))


def _exp_approx(lowering: Lowering, operation: ir.Operation, kind: PtxElement, modifiers: str) -> None:
    """exp(x) = 2^(x log2 e), like __expf in CUDA."""

    def step(a: ir.Value) -> ir.Value:
        scaled = lowering.compute(f"mul.rn.f32 $0, $1, {_LOG2_E};", "f32", to_f32(lowering, kind, a))
        return from_f32(lowering, kind, lowering.compute(f"ex2{modifiers}.f32 $0, $1;", "f32", scaled))

    each(lowering, operation, step)
