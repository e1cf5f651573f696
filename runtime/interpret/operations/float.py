"""Floating-point arithmetic: each result is rounded once, in its mode; `approx` and `full` are exact."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.directed import operate
from tilec.runtime.interpret.numbers.rounding import flush_subnormals
from tilec.runtime.interpret.operations.arith import PREDICATES
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

_OPERATIONS: dict[str, str] = {
    "cuda_tile.addf": "add",
    "cuda_tile.subf": "subtract",
    "cuda_tile.mulf": "multiply",
    "cuda_tile.divf": "divide",
    "cuda_tile.fma": "fma",
}


@interprets("addf", "subf", "mulf", "divf", "fma", elementwise=True)
def _rounded(op: Step, _machine: Machine, *tiles: Tile) -> Tile:
    return operate(_OPERATIONS[op.name], tiles, op.element.format, op["rounding_mode"], op["flush_to_zero"])


@interprets("remf", elementwise=True)
def _remf(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    form = op.element.format
    # The remainder is exact in f64 and representable in the format of the operands.
    return form.encode(np.asarray(np.fmod(form.decode(lhs), form.decode(rhs))))


@interprets("maxf", "minf", elementwise=True)
def _minimum_or_maximum(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    form, largest = op.element.format, op.name == "cuda_tile.maxf"
    a, b = form.decode(lhs), form.decode(rhs)
    if op["flush_to_zero"]:
        a, b = flush_subnormals(a, form), flush_subnormals(b, form)
    if op["propagate_nan"]:
        chosen = np.maximum(a, b) if largest else np.minimum(a, b)
    else:
        chosen = np.fmax(a, b) if largest else np.fmin(a, b)
    negative = np.signbit(a) & np.signbit(b) if largest else np.signbit(a) | np.signbit(b)
    both_zero = (a == 0) & (b == 0)
    return form.encode(np.asarray(np.where(both_zero, np.where(negative, -0.0, 0.0), chosen)))


@interprets("cmpf", elementwise=True)
def _cmpf(op: Step, _machine: Machine, lhs: Tile, rhs: Tile) -> Tile:
    unordered = np.isnan(lhs) | np.isnan(rhs)
    holds = PREDICATES[op["comparison_predicate"]](lhs, rhs)
    return holds | unordered if op["comparison_ordering"] == "unordered" else holds & ~unordered


@interprets("absf", elementwise=True)
def _absf(_op: Step, _machine: Machine, source: Tile) -> Tile:
    return np.abs(source)


@interprets("negf", elementwise=True)
def _negf(_op: Step, _machine: Machine, source: Tile) -> Tile:
    return np.negative(source)


@interprets("ceil", "floor", elementwise=True)
def _integral(op: Step, _machine: Machine, source: Tile) -> Tile:
    form, integral = op.element.format, np.ceil if op.name == "cuda_tile.ceil" else np.floor
    return form.encode(np.asarray(integral(form.decode(source))))
