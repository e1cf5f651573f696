"""The functions whose arguments are Python code that runs at compile time."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.compile_time import evaluate_python, static_value
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.values import KernelValue, describe, function_name
from tilec.errors import StaticException, TileStaticAssertionError, TileSyntaxError, TileTypeError
from tilec.language.operations import control as language

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer


def _static_eval(tracer: Tracer, node: ast.Call) -> KernelValue:
    (expression,) = _arguments(node, language.static_eval, 1, "one expression")
    return static_value(tracer, expression, language.static_eval)


def _static_assert(tracer: Tracer, node: ast.Call) -> None:
    expressions = _arguments(node, language.static_assert, 2, "a condition and a message")
    condition = known(static_value(tracer, expressions[0], language.static_assert))
    if not isinstance(condition, bool):
        kind = "True or False at compile time" if is_static(condition) else "a compile-time condition"
        problem = f"'ct.static_assert', argument 'condition': expected {kind}, got {describe(condition)}"
        raise TileTypeError(problem, tracer.frame.source_location(expressions[0]))
    if not condition:
        raise TileStaticAssertionError("static assertion failed" + _message(tracer, expressions[1:]))


def _message(tracer: Tracer, expressions: list[ast.expr]) -> str:
    text = [evaluate_python(tracer, expression, language.static_assert) for expression in expressions]
    return "".join(f": {part}" for part in text if part is not None and str(part))


def _static_iter(_tracer: Tracer, _node: ast.Call) -> KernelValue:
    raise TileSyntaxError("ct.static_iter can be used only after 'in' of a for statement or of tuple(...)")


def _static_exception(_tracer: Tracer, _node: ast.Call) -> KernelValue:
    raise TileSyntaxError("ct.static_exception can be used only after 'raise'")


def _arguments(node: ast.Call, function: Callable[..., object], most: int, expected: str) -> list[ast.expr]:
    starred = any(isinstance(item, ast.Starred) for item in node.args)
    if node.keywords or starred or not 1 <= len(node.args) <= most:
        raise TileSyntaxError(f"'{function_name(function)}' takes {expected}, by position")
    return node.args


# The functions that see the expressions of their arguments.
STATIC_CALLS: dict[Callable[..., object], Callable[[Tracer, ast.Call], KernelValue]] = {
    language.static_eval: _static_eval,
    language.static_assert: _static_assert,
    language.static_iter: _static_iter,
    language.static_exception: _static_exception,
}


def is_static_call(tracer: Tracer, node: ast.expr, function: Callable[..., object]) -> bool:
    """Whether an expression is a call of `function`, a key of STATIC_CALLS, by its own name."""
    return isinstance(node, ast.Call) and named_static_function(tracer, node.func) is function


def named_static_function(tracer: Tracer, node: ast.expr) -> KernelValue:
    """The key of STATIC_CALLS that an expression names; None for any other expression and for local names."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in tracer.frame.visible_names():
        return None
    function = tracer.evaluate(node)
    return function if callable(function) and _is_key(function) else None


def _is_key(function: KernelValue) -> bool:
    return any(function is key for key in STATIC_CALLS)


def raise_static_exception(tracer: Tracer, node: ast.expr | None) -> None:
    """`raise ct.static_exception(...)`; raises TileSyntaxError for any other exception."""
    if node is None or not is_static_call(tracer, node, language.static_exception):
        raise TileSyntaxError(
            "'raise' cannot be used in a kernel, except raise ct.static_exception(...) at compile time: "
            "use ct.assert_ for conditions at run time"
        )
    assert isinstance(node, ast.Call)
    (expression,) = _arguments(node, language.static_exception, 1, "one exception")
    problem = evaluate_python(tracer, expression, language.static_exception)
    if isinstance(problem, type) and issubclass(problem, BaseException):
        problem = problem()
    if not isinstance(problem, BaseException):
        raise TileTypeError(f"'ct.static_exception' takes an exception, got {describe(problem)}")
    raise StaticException(f"exception at compile time: {type(problem).__name__}: {problem}") from problem
