"""Elementary functions, computed in f64 by the C library and rounded once to nearest even.

For f16, bf16 and f32 the error is at most 0.5 units in the last place plus 2**-29 units of f32: a reference for the
documented errors of the precise (a few units) and `approx` forms of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.directed import operate
from tilec.runtime.interpret.numbers.integer import signed
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, flush_subnormals, round_to
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

_FUNCTIONS: dict[str, Callable[..., Tile]] = {
    "atan2": np.arctan2,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "fpowf": np.power,
    "log": np.log,
    "log2": np.log2,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


@interprets(*_FUNCTIONS, elementwise=True)
def _function(op: Step, _machine: Machine, *tiles: Tile) -> Tile:
    form = op.element.format
    operands = [form.decode(tile) for tile in tiles]
    flush = op.attributes.get("flush_to_zero", False)
    if flush:
        operands = [flush_subnormals(operand, form) for operand in operands]
    result = round_to(_FUNCTIONS[op.name.removeprefix("cuda_tile.")](*operands), form, NEAREST_EVEN)
    return form.encode(flush_subnormals(result, form) if flush else result)


@interprets("sqrt", elementwise=True)
def _sqrt(op: Step, _machine: Machine, source: Tile) -> Tile:
    return operate("sqrt", (source,), op.element.format, op["rounding_mode"], op["flush_to_zero"])


@interprets("fpowi", elementwise=True)
def _fpowi(op: Step, _machine: Machine, source: Tile, exponent: Tile) -> Tile:
    """Exponentiation by squaring with rounded products, in f64 for f64 and in f32 for the other types.

    See tests/semantics/generators/function_vectors.py.
    """
    form = op.element.format
    base: Tile = form.decode(source).astype(np.float64 if op.element.name == "f64" else np.float32)
    power = signed(exponent, op.types[1].element).astype(np.int64)
    rest = np.abs(power)
    result = np.where(rest & 1, base, base.dtype.type(1))
    rest >>= 1
    while rest.any():
        base = base * base
        result = np.where(rest & 1, result * base, result)
        rest >>= 1
    result = np.where(power < 0, 1 / result, result)
    return form.encode(round_to(result.astype(np.float64), form, NEAREST_EVEN))
