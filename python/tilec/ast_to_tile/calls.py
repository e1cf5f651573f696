"""Calls: functions of the language, those builtins of Python that kernels know, and the user's own, inlined."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from tilec.ast_to_tile.arguments import BadArgument, known
from tilec.ast_to_tile.builtins import BUILTINS
from tilec.ast_to_tile.control import is_static
from tilec.ast_to_tile.convert import construct
from tilec.ast_to_tile.expressions import unpacked
from tilec.ast_to_tile.frame import MAXIMUM_DEPTH, Frame
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.source import Source, body_of, read
from tilec.ast_to_tile.tracer import Returned, Tracer, expression
from tilec.ast_to_tile.values import LocalFunction, Method, describe, function_name
from tilec.errors import TileRecursionError, TileSyntaxError, TileTypeError, TileValueError
from tilec.language import arith, debug
from tilec.language.datatypes import DType
from tilec.language.kernel import Kernel


@expression(ast.Call)
def _call(tracer: Tracer, node: ast.Call) -> Any:
    function = tracer.evaluate(node.func)
    arguments: list[Any] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            arguments.extend(unpacked(tracer, item.value))
        else:
            arguments.append(tracer.evaluate(item))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise TileSyntaxError("'**' cannot be used in a kernel: give the arguments by name")
        keywords[keyword.arg] = tracer.evaluate(keyword.value)
    try:
        return call(tracer, function, arguments, keywords)
    except BadArgument as problem:
        if problem.location is not None:
            raise
        place = _argument(function, node, problem.parameter)
        message = f"'{function_name(function)}', argument '{problem.parameter}': {problem.message}"
        raise problem.kind(message, tracer.frame.place(place), tracer.frame.call_chain()) from problem


def _argument(function: Any, node: ast.Call, parameter: str) -> ast.AST:
    """The node of the argument for `parameter`, or the call where it cannot be told."""
    for keyword in node.keywords:
        if keyword.arg == parameter:
            return keyword.value
    target = function.function if isinstance(function, Method) else function
    names = list(_signature(target).parameters) if target in HANDLERS else []
    if isinstance(function, Method):
        names = names[1:]
    if parameter in names[: len(node.args)] and not any(isinstance(item, ast.Starred) for item in node.args):
        return node.args[names.index(parameter)]
    return node


def call(tracer: Tracer, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The result of a call; raises CompileError for what cannot be called."""
    if isinstance(function, Method):
        return _built(tracer, function.function, [function.receiver, *arguments], keywords)
    if isinstance(function, LocalFunction):
        return _inline_local(tracer, function, arguments, keywords)
    if isinstance(function, DType):
        if len(arguments) != 1 or keywords:
            raise TileTypeError(f"'{function}(...)' takes one value")
        return construct(function, arguments[0], tracer.emitter)
    if isinstance(function, Kernel):
        raise TileTypeError(f"kernel '{function.name}' cannot be called from a kernel: call a plain function")
    if not callable(function):
        raise TileTypeError(f"{describe(function)} cannot be called")
    if function in HANDLERS:
        return _built(tracer, function, arguments, keywords)
    if function in BUILTINS:
        return BUILTINS[function](tracer, *_positional(function, arguments, keywords))
    return _of_python(tracer, function, arguments, keywords)


def _of_python(tracer: Tracer, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    function = getattr(function, "in_kernel", function)
    if isinstance(function, BuiltinFunctionType) and getattr(math, function.__name__, None) is function:
        return _folded(function, arguments, keywords)
    if isinstance(function, FunctionType):
        return _inline(tracer, function, arguments, keywords)
    raise TileTypeError(f"{describe(function)} cannot be called in a kernel")


def _folded(function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A function of Python's math, on constants."""
    if not all(map(is_static, arguments)) or keywords:
        raise TileTypeError(
            f"'math.{function.__name__}' takes constants in a kernel: for tiles use the functions of ct"
        )
    try:
        return function(*map(known, arguments))
    except (ArithmeticError, ValueError, TypeError) as problem:
        raise TileValueError(f"'math.{function.__name__}': {problem}") from problem


@functools.cache
def _signature(function: Any) -> inspect.Signature:
    return getattr(function, "signature", None) or inspect.signature(function, follow_wrapped=False)


def _bound(
    name: str, signature: inspect.Signature, arguments: Sequence[Any], keywords: dict[str, Any]
) -> dict[str, Any]:
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as problem:
        raise TileTypeError(f"'{name}': {problem}") from problem
    bound.apply_defaults()
    return dict(bound.arguments)


def _built(tracer: Tracer, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Operations of a function of the language."""
    given = _bound(function_name(function), _builtin_signature(function), arguments, keywords)
    return HANDLERS[function](emitter=tracer.emitter, **given)


def _builtin_signature(function: Any) -> inspect.Signature:
    # Builtins of Python have the parameters of the function of the language with the same meaning.
    if isinstance(function, BuiltinFunctionType):
        return _signature(getattr(debug, function.__name__, None) or getattr(arith, function.__name__))
    return _signature(function)


def _positional(function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Sequence[Any]:
    if keywords:
        raise TileTypeError(f"'{function_name(function)}' takes no arguments by name in a kernel")
    return arguments


def _inline(tracer: Tracer, function: FunctionType, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    signature = _signature(function)
    names = _bound(function.__name__, signature, arguments, keywords)
    source = read(function)
    outer = {**function.__globals__, **closure(function)}
    return _run(tracer, function.__name__, source, source.body, names, outer)


def closure(function: FunctionType) -> dict[str, Any]:
    """The names of enclosing functions that a function reads."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # Not assigned yet: unknown to the kernel as it is to Python.
            continue
    return found


def _inline_local(tracer: Tracer, function: LocalFunction, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    node, frame = function.node, function.frame
    name = function_name(function)
    names = _bound(name, _local_signature(tracer, node.args), arguments, keywords)
    return _run(tracer, name, frame.source, body_of(node), names, frame)


def _local_signature(tracer: Tracer, arguments: ast.arguments) -> inspect.Signature:
    if arguments.vararg or arguments.kwarg:
        raise TileSyntaxError("functions inside a kernel cannot take a variable number of arguments")
    names = (*arguments.posonlyargs, *arguments.args)
    kinds: list[tuple[ast.arg, Any]] = [(item, inspect.Parameter.POSITIONAL_OR_KEYWORD) for item in names]
    defaults: list[Any] = [None] * (len(kinds) - len(arguments.defaults)) + list(arguments.defaults)
    kinds += [(item, inspect.Parameter.KEYWORD_ONLY) for item in arguments.kwonlyargs]
    defaults += arguments.kw_defaults
    return inspect.Signature(
        [
            inspect.Parameter(
                item.arg, kind, default=inspect.Parameter.empty if default is None else tracer.evaluate(default)
            )
            for (item, kind), default in zip(kinds, defaults, strict=True)
        ]
    )


def _run(tracer: Tracer, name: str, source: Source, body: list[ast.stmt], names: dict[str, Any], outer: Any) -> Any:
    """Trace the body of a called function in place; the value it returns."""
    caller = tracer.frame
    if caller.depth >= MAXIMUM_DEPTH:
        raise TileRecursionError(f"calls are nested deeper than {MAXIMUM_DEPTH}: '{name}' calls itself without end")
    tracer.frame = Frame(name, source, body, names, outer, caller, tracer.node)
    try:
        flow = tracer.execute(body)
        return flow.value if isinstance(flow, Returned) else None
    finally:
        tracer.frame = caller
