"""Python code that runs at compile time: the arguments of `ct.static_eval`, `ct.static_assert`, `ct.static_iter`.

Python evaluates the expression with the names of the kernel; run-time values are represented by symbols.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from tilec.ast_to_tile.control_flow.liveness import assigned
from tilec.ast_to_tile.values.symbols import call_at_compile_time, from_python, to_python
from tilec.ast_to_tile.values.values import KernelValue, function_name
from tilec.errors import StaticException, TilecError, TileStaticEvalError, TileSyntaxError, TileTypeError
from tilec.language.datatypes import DType
from tilec.language.kernel_function import compile_time_calls
from tilec.language.operations import arith, bitwise, comparison, control

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer

# Each copy of the body of a loop over static_iter is compiled.
MAXIMUM_ITERATIONS = 1000
# The functions that have no effects beside their result.
_PURE = frozenset(
    function
    for module in (arith, bitwise, comparison)
    for function in vars(module).values()
    if hasattr(function, "signature")
)


def evaluate_python(tracer: Tracer, node: ast.expr, function: Callable[..., object]) -> object:
    """The Python object that an argument of `function` evaluates to; raises StaticException if Python raises."""
    stored = assigned([node])
    if stored:
        raise TileSyntaxError(f"{_quoted(function)} cannot assign '{min(stored)}': assign its result")
    frame = tracer.frame
    code, names = _compiled(node, frame.visible_names(), frame.source.file)
    symbols = [to_python(tracer, frame.lookup(name)) for name in names]
    return _run(tracer, function, lambda: eval(code, dict(frame.globals()))(*symbols))


def _run(tracer: Tracer, function: Callable[..., object], evaluate: Callable[[], object]) -> object:
    def call(called: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> object:
        if (called in _PURE or isinstance(called, DType)) and not keywords:
            return call_at_compile_time(tracer, called, arguments)
        raise TileStaticEvalError(
            f"'{function_name(called)}' cannot be called inside {_quoted(function)}: call it before, and use its result"
        )

    try:
        with compile_time_calls(call):
            return evaluate()
    except TilecError:
        raise
    except Exception as problem:
        message = f"the argument of {_quoted(function)} raised {type(problem).__name__}: {problem}"
        raise StaticException(message) from problem


def _quoted(function: Callable[..., object]) -> str:
    return f"'{function_name(function)}'"


@functools.lru_cache(maxsize=256)
def _compiled(node: ast.expr, local: frozenset[str], file: str) -> tuple[CodeType, tuple[str, ...]]:
    """The code of a function of the local names that the expression reads, and these names."""
    nested = _function_of(_function_of(node, ()), tuple(sorted(local)))
    (outer,) = _functions(_code(nested, file))
    (inner,) = _functions(outer)
    names = tuple(sorted(inner.co_freevars))
    return _code(_function_of(node, names), file), names


def _function_of(body: ast.expr, names: tuple[str, ...]) -> ast.Lambda:
    parameters = [ast.copy_location(ast.arg(name), body) for name in names]
    arguments = ast.arguments(parameters, [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(arguments, body), body)


def _code(function: ast.Lambda, file: str) -> CodeType:
    return compile(ast.Expression(function), file, "eval")


def _functions(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def static_value(tracer: Tracer, node: ast.expr, function: Callable[..., object]) -> KernelValue:
    """The kernel value that an argument of `function` evaluates to."""
    return from_python(evaluate_python(tracer, node, function))


def static_items(tracer: Tracer, node: ast.expr) -> list[KernelValue]:
    """The elements of the argument of `ct.static_iter`."""
    iterable = evaluate_python(tracer, node, control.static_iter)
    items: list[KernelValue] = []
    for item in _run(tracer, control.static_iter, lambda: _elements(iterable)):  # type: ignore[attr-defined]
        try:
            items.append(from_python(item))
        except TileTypeError as problem:
            message = f"the element {len(items)} of 'ct.static_iter' is not a value of a kernel: {problem.message}"
            raise TileStaticEvalError(message) from problem
    return items


def _elements(iterable: object) -> list[object]:
    try:
        iterator = iter(iterable)  # type: ignore[call-overload]
    except TypeError as problem:
        raise TileTypeError(f"'ct.static_iter' takes an iterable: {problem}") from problem
    try:
        elements = list(itertools.islice(iterator, MAXIMUM_ITERATIONS + 1))
    except TilecError:
        raise
    except Exception as problem:
        raise TileTypeError(f"the iterable of 'ct.static_iter' raised {type(problem).__name__}: {problem}") from problem
    if len(elements) > MAXIMUM_ITERATIONS:
        expected = f"'ct.static_iter' takes at most {MAXIMUM_ITERATIONS} elements, each a copy of the body"
        raise TileStaticEvalError(f"{expected}: use 'for' over range(...)")
    return elements
