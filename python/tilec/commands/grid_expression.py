"""Grids on a command line: one to three expressions of the names of constants and of the extents of arrays."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tilec.errors import UsageError
from tilec.language.operations.arith import cdiv
from tilec.runtime.arrays import is_array

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": cdiv, "min": min, "max": max}
_FORMS = "integers, constants, A.shape[0], + - * // %, cdiv(a, b), min and max"


def parse_grid(text: str) -> ast.expr:
    """The syntax of the text; raises UsageError if it is not an expression."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"cannot parse the grid '{text}': expected {_FORMS}") from None


def evaluate_grid(expression: ast.expr, names: Mapping[str, Any]) -> tuple[int, ...]:
    """The grid for these arguments by name; raises UsageError for a form that grids do not have."""
    parts = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    return tuple(_evaluate(part, names) for part in parts)


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return _integer(node.id, names)
    if isinstance(node, ast.Subscript):
        return _extent(node, names)
    try:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_evaluate(node.left, names), _evaluate(node.right, names))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in _FUNCTIONS:
                return _FUNCTIONS[node.func.id](*(_evaluate(argument, names) for argument in node.args))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise UsageError(f"cannot evaluate '{ast.unparse(node)}' of the grid: {error}") from None
    raise UsageError(f"cannot evaluate '{ast.unparse(node)}' of the grid: expected {_FORMS}")


def _integer(name: str, names: Mapping[str, Any]) -> int:
    value = names.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        known = ", ".join(known for known, found in names.items() if isinstance(found, int)) or "none"
        raise UsageError(f"the grid has the name '{name}', which is not an integer of the kernel (integers: {known})")
    return value


def _extent(node: ast.Subscript, names: Mapping[str, Any]) -> int:
    """The extent of `NAME.shape[AXIS]`."""
    attribute, axis = node.value, node.slice
    if isinstance(attribute, ast.Attribute) and attribute.attr == "shape" and isinstance(attribute.value, ast.Name):
        array: Any = names.get(attribute.value.id)
        if is_array(array) and isinstance(axis, ast.Constant) and axis.value in range(len(array.shape)):
            return int(array.shape[axis.value])
    raise UsageError(f"cannot evaluate '{ast.unparse(node)}' of the grid: expected an extent such as A.shape[0]")
