"""Replaces operations by cheaper ones with bit-identical results: constants, operands, shorter operations.

Operations on constants are folded if the result is exact, defined, and no larger than the operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isnan, prod

from tilec.dialect.cuda_tile.element import NUMBERS
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import constant, elements_of, splat_attribute, splat_constant
from tilec.lowering.tile.analysis.replacing import Replacement, Rule, replace_results
from tilec.lowering.tile.analysis.value_analysis import kept_facts
from tilec.lowering.tile.simplify import simplify_float, simplify_integer, simplify_memory, simplify_shape

# The elements of each result of an operation on constants, or None if they are undefined or unspecified.
Evaluate = Callable[[ir.OpView], list[ir.Attribute] | None]

# Above this size only splats are folded: the elements would cost more than the operation.
_MAXIMUM_ELEMENTS = 4096

# Applied to a splat, these return the same splat in another shape.
_MOVES = ("broadcast", "reshape", "permute", "extract")
_INTEGER = (
    "absi", "addi", "andi", "cmpi", "divi", "maxi", "mini", "mulhii", "muli", "negi", "ori", "remi", "shli", "shri",
    "subi", "xori",
)  # fmt: skip
# Rounded correctly, except divf and sqrt with `approx` and `full`, whose results depend on the machine.
_FLOAT = (
    "absf", "addf", "ceil", "cmpf", "divf", "floor", "fma", "maxf", "minf", "mulf", "negf", "remf", "sqrt", "subf",
)  # fmt: skip
_CONVERSIONS = ("bitcast", "exti", "ftof", "ftoi", "itof", "pack", "trunci", "unpack")
_SHAPE = ("cat", "insert", "select")
# These forward the bits of their operands, and the bits of a NaN are not preserved reliably.
_BITS = ("bitcast", "pack")
_BYTES, _CODE = '"0x', re.compile(r"\b0x[0-9A-F]+")
_OP_GROUPS = (simplify_integer, simplify_float, simplify_shape, simplify_memory)
IDENTITIES: dict[str, Rule] = {name: rule for group in _OP_GROUPS for name, rule in group.RULES.items()}


def simplify(module: ir.Module, evaluate: Evaluate) -> None:
    """Folds constants and applies identities together up to a fixed point."""
    folds = _fold_rules(evaluate)
    both = {name: _first(IDENTITIES[name], folds[name]) for name in IDENTITIES.keys() & folds.keys()}
    with kept_facts():
        replace_results(module, {**folds, **IDENTITIES, **both})


def _first(identity: Rule, fold: Rule) -> Rule:
    return lambda op: identity(op) or fold(op)


def fold_constants(module: ir.Module, evaluate: Evaluate) -> None:
    """Folds in program order, so that users see folded operands; exp, approximations and undefined results remain."""
    replace_results(module, _fold_rules(evaluate))


def _fold_rules(evaluate: Evaluate) -> dict[str, Callable[[ir.OpView], Replacement]]:

    def fold(op: ir.OpView) -> Replacement:
        return _evaluated(op, evaluate)

    def move(op: ir.OpView) -> Replacement:
        return _moved(op) or _evaluated(op, evaluate)

    names = (*_INTEGER, *_FLOAT, *_CONVERSIONS, *_SHAPE)
    return {**dict.fromkeys(names, fold), **dict.fromkeys(_MOVES, move)}


def _moved(op: ir.OpView) -> ir.Value | None:
    """Moving the elements of a splat changes only its shape."""
    number = splat_attribute(op.operation.operands[0])
    return None if number is None else splat_constant(op.operation.results[0].type, number)


def _evaluated(op: ir.OpView, evaluate: Evaluate) -> ir.Value | None:
    given = [elements_of(operand) for operand in op.operation.operands]
    operands = [elements for elements in given if elements is not None]
    if not operands or len(operands) < len(given) or getattr(op, "rounding_mode", None) in ("approx", "full"):
        return None
    tile = op.operation.results[0].type
    # Tile IR has no constants of i4.
    if spell(tile.element) not in NUMBERS:
        return None
    all_splat = all(elements.is_splat for elements in operands)
    if not all_splat and max(prod(elements.type.shape) for elements in operands) > _MAXIMUM_ELEMENTS:
        return None
    name = op.operation.name.removeprefix("cuda_tile.")
    if name in _BITS and any(map(_may_hold_nan, operands)):
        return None
    found = evaluate(op)
    # A constant with different elements needs registers or memory; the operation on splats needs neither.
    if found is None or all_splat and not found[0].is_splat:
        return None
    return constant(tile, found[0])


def _may_hold_nan(elements: ir.DenseElementsAttr) -> bool:
    element = ir.RankedTensorType(elements.type).element_type
    if not isinstance(element, ir.FloatType):
        return False
    text = str(elements)
    # MLIR prints infinities and NaN as their bits, and long lists as their bytes.
    return _BYTES in text or any(isnan(_number(word, element)) for word in _CODE.findall(text))


def _number(word: str, element: ir.Type) -> float:
    return ir.FloatAttr(ir.Attribute.parse(f"{word} : {element}")).value
