"""Calls of language functions, of supported Python builtins, and of user functions, which are inlined."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType

from tilec.ast_to_tile.arguments import BadArgument, known
from tilec.ast_to_tile.builtins import BUILTINS
from tilec.ast_to_tile.control_flow.comprehension import tuple_of
from tilec.ast_to_tile.expressions import unpacked
from tilec.ast_to_tile.fold import MAXIMUM_BITS
from tilec.ast_to_tile.operations.convert import construct
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.source import Source, body_of, read
from tilec.ast_to_tile.static_calls import STATIC_CALLS, named_static_function
from tilec.ast_to_tile.tracer import Returned, Tracer, expression
from tilec.ast_to_tile.values.closures import scope_of
from tilec.ast_to_tile.values.frame import MAXIMUM_DEPTH, Frame
from tilec.ast_to_tile.values.python_object import plain
from tilec.ast_to_tile.values.records import construct_record, replaced
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.values import (
    ContextManager,
    KernelValue,
    LocalFunction,
    Method,
    Record,
    describe,
    function_name,
)
from tilec.errors import TileRecursionError, TileTypeError, TileValueError
from tilec.language.datatypes import DType
from tilec.language.operations import arith, debug


@expression(ast.Call)
def _call(tracer: Tracer, node: ast.Call) -> KernelValue:
    static = named_static_function(tracer, node.func)
    if static is not None:
        return STATIC_CALLS[static](tracer, node)  # type: ignore[index]
    function = tracer.evaluate(node.func)
    if function is tuple and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return tuple_of(tracer, node.args[0])
    arguments: list[KernelValue] = []
    for item in node.args:
        arguments.extend(unpacked(tracer, item.value) if isinstance(item, ast.Starred) else [tracer.evaluate(item)])
    keywords = _keywords(tracer, node)
    try:
        return call(tracer, function, arguments, keywords)
    except BadArgument as problem:
        if problem.location is not None:
            raise
        argument = _argument(function, node, problem.parameter)
        message = f"'{function_name(function)}', argument '{problem.parameter}': {problem.message}"
        raise problem.kind(message, tracer.frame.source_location(argument), tracer.frame.call_chain()) from problem


def _keywords(tracer: Tracer, node: ast.Call) -> dict[str, KernelValue]:
    keywords: dict[str, KernelValue] = {}
    for keyword in node.keywords:
        value = tracer.evaluate(keyword.value)
        given = {keyword.arg: value} if keyword.arg is not None else value
        if not isinstance(given, dict):
            raise TileTypeError(f"expected a dictionary after '**', got {describe(given)}")
        if repeated := keywords.keys() & given.keys():
            raise TileTypeError(f"the argument '{min(repeated)}' is given twice")
        keywords.update(given)
    return keywords


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
        return call(tracer, function.function, [function.receiver, *arguments], keywords)
    if isinstance(function, MethodType):
        return call(tracer, function.__func__, [plain(function.__self__), *arguments], keywords)
    if isinstance(function, Record) and "__call__" in dir(function.kind):
        return call(tracer, function.kind.__call__, [function, *arguments], keywords)
    if isinstance(function, LocalFunction):
        return _inline_local(tracer, function, arguments, keywords)
    if isinstance(function, DType):
        if len(arguments) > 1 or keywords:
            raise TileTypeError(f"'{function}(...)' takes one positional argument, or none for zero")
        return construct(function, arguments[0] if arguments else 0, tracer.emitter)
    if isinstance(refusal := getattr(function, "refusal_in_kernel", None), str):
        raise TileTypeError(refusal)
    if not callable(function):
        raise TileTypeError(f"{describe(function)} cannot be called")
    if function in HANDLERS:
        return _build_call(tracer, function, arguments, keywords)
    if function is dataclasses.replace and len(arguments) == 1:
        return replaced(tracer.emitter, arguments[0], keywords)
    if isinstance(function, type) and function not in BUILTINS:
        return _construct(tracer, function, arguments, keywords)
    if function in BUILTINS:
        return _call_builtin(tracer, BUILTINS[function], function, arguments, keywords)
    return _call_python_function(tracer, function, arguments, keywords)


def _construct(
    tracer: Tracer, kind: type, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    """An instance of a dataclass, a member of an enumeration, or a context manager of a generator."""
    if dataclasses.is_dataclass(kind):
        return construct_record(tracer.emitter, kind, arguments, keywords)
    if kind is contextlib._GeneratorContextManager:
        function, given, named = arguments
        return ContextManager(function, given, named)  # type: ignore[arg-type]
    if issubclass(kind, enum.Enum):
        return _member(kind, arguments, keywords)
    if kind in (enumerate, zip, reversed, map, filter):
        raise TileTypeError(
            f"'{kind.__name__}' can only be called at compile time: write it inside ct.static_iter(...) or "
            "ct.static_eval(...)"
        )
    raise TileTypeError(
        f"the class '{kind.__name__}' cannot be called in a kernel: use a frozen dataclass or a function"
    )


def _member(kind: type[enum.Enum], arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]) -> KernelValue:
    if len(arguments) != 1 or keywords or not is_static(arguments[0]):
        found = ", ".join(map(describe, arguments)) or "nothing"
        raise TileTypeError(f"'{kind.__name__}' takes one constant, got {found}")
    try:
        return kind(known(arguments[0]))
    except ValueError as problem:
        members = ", ".join(repr(member.value) for member in kind)
        found = describe(arguments[0])
        raise TileValueError(f"{found} is not a value of '{kind.__name__}': expected one of {members}") from problem


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
        result = function(*map(known, arguments))
    except (ArithmeticError, ValueError, TypeError) as problem:
        raise TileValueError(f"'math.{function.__name__}': {problem}") from problem
    if isinstance(result, int) and result.bit_length() > MAXIMUM_BITS:
        raise TileValueError(f"the result of 'math.{function.__name__}' has more than {MAXIMUM_BITS} bits")
    return result


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
    given = dict(bound.arguments)
    bound.apply_defaults()
    return {parameter: given.get(parameter, plain(value)) for parameter, value in bound.arguments.items()}


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


def _call_builtin(
    tracer: Tracer,
    build: Callable[..., KernelValue],
    function: KernelValue,
    arguments: Sequence[KernelValue],
    keywords: dict[str, KernelValue],
) -> KernelValue:
    if keywords:
        raise TileTypeError(f"'{function_name(function)}' takes no keyword arguments in a kernel")
    _bind_arguments(function_name(function), _signature(build), (tracer, *arguments), {})
    return build(tracer, *arguments)


def _inline(
    tracer: Tracer, function: FunctionType, arguments: Sequence[KernelValue], keywords: dict[str, KernelValue]
) -> KernelValue:
    return _run(tracer, frame_of_call(tracer, function, arguments, keywords))


def frame_of_call(
    tracer: Tracer,
    function: FunctionType,
    arguments: Sequence[KernelValue],
    keywords: dict[str, KernelValue],
    body: list[ast.stmt] | None = None,
) -> Frame:
    """The frame of a call from the current node; `body` replaces the statements of the function."""
    names = _bind_arguments(function.__name__, _signature(function), arguments, keywords)
    source = read(function)
    outer = {**function.__globals__, **closure(function)}
    return _frame(tracer, function.__name__, source, source.body if body is None else body, names, outer)


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
    name = function_name(function)
    names = _bind_arguments(name, _local_signature(function), arguments, keywords)
    return _run(tracer, _frame(tracer, name, function.frame.source, body_of(function.node), names, scope_of(function)))


def _local_signature(function: LocalFunction) -> inspect.Signature:
    arguments, defaults = function.node.args, iter(function.defaults)
    positional = [
        *((argument, inspect.Parameter.POSITIONAL_ONLY) for argument in arguments.posonlyargs),
        *((argument, inspect.Parameter.POSITIONAL_OR_KEYWORD) for argument in arguments.args),
    ]
    required = len(positional) - len(arguments.defaults)
    parameters = [
        inspect.Parameter(argument.arg, kind, default=_EMPTY if position < required else next(defaults))
        for position, (argument, kind) in enumerate(positional)
    ]
    if arguments.vararg:
        parameters.append(inspect.Parameter(arguments.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    parameters += [
        inspect.Parameter(
            argument.arg, inspect.Parameter.KEYWORD_ONLY, default=_EMPTY if default is None else next(defaults)
        )
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(inspect.Parameter(arguments.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


_EMPTY = inspect.Parameter.empty


def _frame(
    tracer: Tracer,
    name: str,
    source: Source,
    body: list[ast.stmt],
    names: dict[str, KernelValue],
    outer: Frame | Mapping[str, KernelValue],
) -> Frame:
    caller = tracer.frame
    if caller.depth >= MAXIMUM_DEPTH:
        raise TileRecursionError(f"calls are nested deeper than {MAXIMUM_DEPTH}: '{name}' calls itself without end")
    return Frame(name, source, body, names, outer, caller, tracer.node, contexts=len(tracer.contexts))


def _run(tracer: Tracer, frame: Frame) -> KernelValue:
    """Inlines the body of a called function at the insertion point, and returns its value."""
    caller, tracer.frame = tracer.frame, frame
    try:
        flow = tracer.execute(frame.body)
        return flow.value if isinstance(flow, Returned) else None
    finally:
        tracer.frame = caller
