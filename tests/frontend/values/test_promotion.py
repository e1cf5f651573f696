"""Every operator on every pair of types has the result type of cuTile, or is rejected as in cuTile."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tilec as ct
from tilec.ast_to_tile import entry  # noqa: F401  (registers every function)
from tilec.ast_to_tile.builtins import BUILTINS
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.arith import as_signed_number, binary, invert, negate
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.values.values import Tile, TypedConstant
from tilec.dialect.mlir import context, ir
from tilec.errors import TilecError
from tilec.language.datatypes import by_element

Apply = Callable[..., Any]

LITERALS = {"True": True, "3": 3, "1.5": 1.5}
# The names in the front end of the operators of the table.
_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "==": "eq", "<": "lt",
}  # fmt: skip


def _of_operator(name: str) -> Apply:
    return lambda emitter, x, y: binary(emitter, name, x, y)


def _of_function(function: Any, *further: Any) -> Apply:
    def apply(emitter: Emitter, *operands: Any) -> Any:
        signature = inspect.signature(function).bind(*operands, *further)
        signature.apply_defaults()
        return HANDLERS[function](emitter=emitter, **signature.arguments)

    return apply


BINARY: dict[str, Apply] = {
    **{symbol: _of_operator(name) for symbol, name in _OPERATORS.items()},
    "min": lambda emitter, x, y: BUILTINS[min](type("Tracer", (), {"emitter": emitter}), x, y),
    "max": lambda emitter, x, y: BUILTINS[max](type("Tracer", (), {"emitter": emitter}), x, y),
    "cdiv": lambda emitter, x, y: HANDLERS[ct.cdiv](emitter, x, y),
    "divmod": lambda emitter, x, y: HANDLERS[divmod](emitter, x, y)[1],
    "where": lambda emitter, x, y: HANDLERS[ct.where](emitter, True, x, y),
    "minimum": _of_function(ct.minimum),
    "atan2": _of_function(ct.atan2),
}
UNARY: dict[str, Apply] = {
    "-x": negate,
    "+x": as_signed_number,
    "~x": invert,
    "not_x": lambda emitter, x: invert(emitter, HANDLERS[ct.astype](emitter, x, ct.bool_, None)),
    "abs": lambda emitter, x: HANDLERS[abs](emitter, x),
    "max1": _of_function(ct.max, 0),
    **{name: _of_function(getattr(ct, name)) for name in (
        "bitwise_not negative exp exp2 sqrt rsqrt floor ceil isnan tanh log sin"
    ).split()},
    **{name: _of_function(getattr(ct, name), 0) for name in ("sum", "prod", "argmax", "cumsum", "cumprod")},
}  # fmt: skip


def _rows() -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """Each operator with {type of x: {type of y: type of the result}}; one row '' for functions of one operand."""
    text = (Path(__file__).parent / "promotion.txt").read_text()
    for block in text.split("\n\n"):
        lines = [line.split() for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        heading, columns, *rows = lines
        table = {row[0]: dict(zip(columns[1:], row[1:], strict=True)) for row in rows}
        if heading[0] == "operators:":
            yield from ((name, table) for name in heading[1:])
        else:
            yield from ((name, {"": row}) for name, row in table.items())


TABLE = dict(_rows())


@pytest.fixture
def emitter() -> Iterator[Emitter]:
    """An emitter that appends to a temporary module."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield Emitter(ir.Location.unknown, warnings.warn, lambda function, values: operator.add(*values))


def _operand(emitter: Emitter, name: str) -> Any:
    return LITERALS[name] if name in LITERALS else emitter.constant(1, by_element(name), (2,))  # type: ignore[arg-type]


def _found(apply: Apply, emitter: Emitter, *operands: Any) -> str:
    try:
        result = apply(emitter, *operands)
    except TilecError as error:
        assert isinstance(error, ct.TileTypeError) or getattr(error, "kind", None) is ct.TileTypeError, error
        return "-"
    assert isinstance(result, Tile | TypedConstant)
    return result.dtype.element


def test_table_and_test_have_the_same_operators() -> None:
    assert set(TABLE) == {*BINARY, *UNARY}


@pytest.mark.parametrize("name", BINARY)
def test_binary(emitter: Emitter, name: str) -> None:
    wrong = []
    for left, row in TABLE[name].items():
        for right, expected in row.items():
            if expected == "number":
                continue
            found = _found(BINARY[name], emitter, _operand(emitter, left), _operand(emitter, right))
            if found != expected:
                wrong.append(f"{left} {name} {right}: {found}, in cuTile {expected}")
    assert wrong == []


@pytest.mark.parametrize("name", UNARY)
def test_unary(emitter: Emitter, name: str) -> None:
    row = TABLE[name][""]
    assert {element: _found(UNARY[name], emitter, _operand(emitter, element)) for element in row} == row
