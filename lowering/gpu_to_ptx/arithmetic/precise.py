"""Functions without a PTX instruction: those of the CUDA math library, as `.func` or inlined."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elementwise import each
from tilec.lowering.gpu_to_ptx.registers.extension import widened
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.narrow_float import from_f32, to_f32
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


@lowers(*_FUNCTIONS)
def precise(lowering: Lowering, operation: ir.Operation) -> None:
    called(lowering, operation, _FUNCTIONS[operation.name])


def called(lowering: Lowering, operation: ir.Operation, name: str) -> None:
    """Applies a device function to f32 or f64; 16-bit floats are widened and the result is rounded once."""
    kind = element(operation.results[0])

    def step(*operands: ir.Value) -> ir.Value:
        wide = [to_f32(lowering, kind, operand) for operand in operands]
        return from_f32(lowering, kind, call(lowering, name, wide))

    each(lowering, operation, step)


def call(lowering: Lowering, name: str, operands: list[ir.Value]) -> ir.Value:
    """Calls a device function on f32 or f64 registers; the first call adds it to the module."""
    return function(name, str(operands[0].type), lowering.target.name).write(lowering.b, *operands)


@lowers("math.fpowi")
def fpowi(lowering: Lowering, operation: ir.Operation) -> None:
    """Exponentiation by squaring in f32 or f64; 16-bit floats are widened and the result is rounded once."""
    kind, exponent = element(operation.results[0]), element(operation.operands[1])

    def step(base: ir.Value, power: ir.Value) -> ir.Value:
        wide, whole = to_f32(lowering, kind, base), widened(lowering, exponent, True, power, 32)
        return from_f32(lowering, kind, integer_power(str(wide.type)).write(lowering.b, wide, whole))

    each(lowering, operation, step)
