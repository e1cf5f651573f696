"""Integer expressions of the entry arguments, used by launch metadata for tensor maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.errors import InputError
from tilec.frozen import Frozen


class Parameter(Frozen):
    """The value of one entry argument: an integer or the address of an array."""

    index: int


class Operation(Frozen):
    """An operator of OPERATORS applied to two expressions."""

    name: str
    left: Expression
    right: Expression


Expression = int | Parameter | Operation


def _nonzero(divide: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def checked(left: int, right: int) -> int:
        if right == 0:
            raise InputError("the launch metadata divides by an argument that is zero")
        return divide(left, right)

    return checked


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "floordiv": _nonzero(lambda left, right: left // right),
    "ceildiv": _nonzero(lambda left, right: -(-left // right)),
    "min": min,
    "max": max,
}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//"}


def evaluate(expression: Expression, arguments: Sequence[int]) -> int:
    """The exact value of the expression for these entry arguments."""
    if isinstance(expression, Parameter):
        return arguments[expression.index]
    if isinstance(expression, Operation):
        return OPERATORS[expression.name](evaluate(expression.left, arguments), evaluate(expression.right, arguments))
    return expression


def to_text(expression: Expression, names: Sequence[str]) -> str:
    """The expression in infix notation with argument names, for messages."""
    if isinstance(expression, Parameter):
        return names[expression.index]
    if isinstance(expression, int):
        return str(expression)
    left, right = to_text(expression.left, names), to_text(expression.right, names)
    sign = _SIGNS.get(expression.name)
    return f"({left} {sign} {right})" if sign else f"{expression.name}({left}, {right})"


def to_json(expression: Expression) -> object:
    """The JSON representation in launch metadata."""
    if isinstance(expression, Parameter):
        return {"parameter": expression.index}
    if isinstance(expression, Operation):
        return {"op": expression.name, "arguments": [to_json(expression.left), to_json(expression.right)]}
    return expression


def largest_parameter(expression: Expression) -> int:
    """The largest index of an entry argument in the expression, -1 if it has none."""
    if isinstance(expression, Parameter):
        return expression.index
    if isinstance(expression, Operation):
        return max(largest_parameter(expression.left), largest_parameter(expression.right))
    return -1
