"""Calls of language functions, of supported Python builtins, and of user functions, which are inlined."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType

from tilec.ast_to_tile.arguments import BadArgument, known
from tilec.ast_to_tile.builtins import BUILTINS
from tilec.ast_to_tile.control import is_static, python_exceptions_reported
from tilec.ast_to_tile.convert import construct
from tilec.ast_to_tile.expressions import unpacked
from tilec.ast_to_tile.frame import MAXIMUM_DEPTH, Frame
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.source import Source, body_of, read
from tilec.ast_to_tile.tracer import Returned, Tracer, expression
from tilec.ast_to_tile.values import KernelValue, LocalFunction, Method, describe, function_name
from tilec.errors import TileRecursionError, TileSyntaxError, TileTypeError, TileValueError
from tilec.language import arith, debug
from tilec.language.datatypes import DType


@expression(ast.Call)
def _call(tracer: Tracer, node: ast.Call) -> KernelValue:
    function = tracer.evaluate(node.func)
    arguments: list[KernelValue] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            arguments.extend(unpacked(tracer, item.value))
        else:
            with python_exceptions_reported(function):
                arguments.append(tracer.evaluate(item))
    keywords: dict[str, KernelValue] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise TileSyntaxError("'**' in a call is not supported in kernels: pass the arguments by name")
        keywords[keyword.arg] = tracer.evaluate(keyword.value)
    try:
        return call(tracer, function, arguments, keywords)
    except BadArgument as problem:
        if problem.location is not None:
            raise
        argument = _argument(function, node, problem.parameter)
        message = f"'{function_name(function)}', argument '{problem.parameter}': {problem.message}"
        raise problem.kind(message, tracer.frame.source_location(argument), tracer.frame.call_chain()) from problem


def _argument(function: KernelValue, node: ast.Call, parameter: str) -> ast.AST:
    """The syntax node of the argument for `parameter`; the node of the call if the argument has none."""
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


def call(
    tracer: Tracer, function: KernelValue, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    """The result of a call; raises CompileError if the function cannot be called in a kernel."""
    if isinstance(function, Method):
        return _build_call(tracer, function.function, [function.receiver, *arguments], keywords)
    if isinstance(function, LocalFunction):
        return _inline_local(tracer, function, arguments, keywords)
    if isinstance(function, DType):
        if len(arguments) > 1 or keywords:
            raise TileTypeError(f"'{function}(...)' takes one positional argument, or none for zero")
        return construct(function, arguments[0] if arguments else 0, tracer.emitter)
    if refusal := getattr(function, "refusal_in_kernel", None):
        raise TileTypeError(refusal)
    if not callable(function):
        raise TileTypeError(f"{describe(function)} cannot be called")
    if function in HANDLERS:
        return _build_call(tracer, function, arguments, keywords)
    if function in BUILTINS:
        return BUILTINS[function](tracer, *_positional(function, arguments, keywords))
    return _call_python_function(tracer, function, arguments, keywords)


def _call_python_function(
    tracer: Tracer, function: KernelValue, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    function = getattr(function, "in_kernel", function)
    if isinstance(function, BuiltinFunctionType) and function in vars(math).values():
        return _fold_math_call(function, arguments, keywords)
    if isinstance(function, FunctionType):
        return _inline(tracer, function, arguments, keywords)
    raise TileTypeError(f"{describe(function)} cannot be called in a kernel")


def _fold_math_call(
    function: BuiltinFunctionType, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    """Evaluates a function of Python's math module on constants; raises CompileError for other arguments."""
    if not all(map(is_static, arguments)) or keywords:
        raise TileTypeError(
            f"'math.{function.__name__}' takes only constants in a kernel: for tiles use the functions of ct"
        )
    try:
        return function(*map(known, arguments))
    except (ArithmeticError, ValueError, TypeError) as problem:
        raise TileValueError(f"'math.{function.__name__}': {problem}") from problem


@functools.cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    if hasattr(function, "signature"):
        return function.signature()
    return inspect.signature(function, follow_wrapped=False)


def _bind_arguments(
    name: str, signature: inspect.Signature, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> dict[str, KernelValue]:
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as problem:
        raise TileTypeError(f"'{name}': {problem}") from problem
    bound.apply_defaults()
    return dict(bound.arguments)


def _build_call(
    tracer: Tracer, function: Callable[..., object], arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    """Builds the operations of a language function and returns its result."""
    given = _bind_arguments(function_name(function), _builtin_signature(function), arguments, keywords)
    return HANDLERS[function](emitter=tracer.emitter, **given)


def _builtin_signature(function: Callable[..., object]) -> inspect.Signature:
    # A Python builtin has the parameters of the corresponding language function.
    if isinstance(function, BuiltinFunctionType):
        return _signature(getattr(debug, function.__name__, None) or getattr(arith, function.__name__))
    return _signature(function)


def _positional(
    function: KernelValue, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> Sequence[KernelValue]:
    if keywords:
        raise TileTypeError(f"'{function_name(function)}' takes no keyword arguments in a kernel")
    return arguments


def _inline(
    tracer: Tracer, function: FunctionType, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    signature = _signature(function)
    names = _bind_arguments(function.__name__, signature, arguments, keywords)
    source = read(function)
    outer = {**function.__globals__, **closure(function)}
    return _run(tracer, function.__name__, source, source.body, names, outer)


def closure(function: FunctionType) -> dict[str, KernelValue]:
    """The values of the free variables of a function."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # An empty cell: the name is unassigned in Python too.
            continue
    return found


def _inline_local(
    tracer: Tracer, function: LocalFunction, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    node, frame = function.node, function.frame
    name = function_name(function)
    names = _bind_arguments(name, _local_signature(tracer, node.args), arguments, keywords)
    return _run(tracer, name, frame.source, body_of(node), names, frame)


def _local_signature(tracer: Tracer, arguments: ast.arguments) -> inspect.Signature:
    if arguments.vararg or arguments.kwarg:
        raise TileSyntaxError("functions inside a kernel cannot take a variable number of arguments")
    positional = (*arguments.posonlyargs, *arguments.args)
    required: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    parameters = [
        _local_parameter(tracer, argument, inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
        for argument, default in zip(positional, [*required, *arguments.defaults], strict=True)
    ]
    parameters += [
        _local_parameter(tracer, argument, inspect.Parameter.KEYWORD_ONLY, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return inspect.Signature(parameters)


def _local_parameter(
    tracer: Tracer, argument: ast.arg, kind: inspect._ParameterKind, default: ast.expr | None
) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is None else tracer.evaluate(default)
    return inspect.Parameter(argument.arg, kind, default=value)


def _run(
    tracer: Tracer,
    name: str,
    source: Source,
    body: list[ast.stmt],
    names: dict[str, KernelValue],
    outer: Frame | Mapping[str, KernelValue],
) -> KernelValue:
    """Inlines the body of a called function at the insertion point, and returns its value."""
    caller = tracer.frame
    if caller.depth >= MAXIMUM_DEPTH:
        raise TileRecursionError(f"calls are nested deeper than {MAXIMUM_DEPTH}: '{name}' calls itself without end")
    tracer.frame = Frame(name, source, body, names, outer, caller, tracer.node)
    try:
        flow = tracer.execute(body)
        return flow.value if isinstance(flow, Returned) else None
    finally:
        tracer.frame = caller
