"""`with`: context managers that `contextlib.contextmanager` makes from generators.

The statements before `yield` are traced at the start of the body, and those after it at each exit: at its end, and
before a `break`, `continue` or `return` that leaves it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType

from tilec.ast_to_tile.assignment import bind
from tilec.ast_to_tile.calls import frame_of_call
from tilec.ast_to_tile.control_flow.liveness import contains
from tilec.ast_to_tile.source import read
from tilec.ast_to_tile.tracer import Context, Flow, Tracer, statement
from tilec.ast_to_tile.values.closures import freeze
from tilec.ast_to_tile.values.frame import Frame
from tilec.ast_to_tile.values.values import ContextManager, KernelValue, describe
from tilec.errors import TileSyntaxError, TileTypeError


class Enter(ast.stmt):
    """Enters the context of one item of a `with` statement."""

    _fields = ("item",)

    def __init__(self, item: ast.withitem) -> None:
        super().__init__()
        self.item = item
        ast.copy_location(self, item.context_expr)


class Leave(ast.stmt):
    """Leaves the innermost context."""

    def __init__(self, source: ast.With) -> None:
        super().__init__()
        ast.copy_location(self, source.items[-1].context_expr)


def opened(node: ast.With) -> list[ast.stmt]:
    """The statements of a `with`, with those that enter and leave its contexts."""
    entries = [Enter(item) for item in node.items]
    return [*entries, *node.body, *(Leave(node) for _ in node.items)]


@statement(ast.With)
def _with(tracer: Tracer, node: ast.With, rest: Sequence[ast.stmt]) -> Flow:
    depth = len(tracer.contexts)
    statements = opened(node)
    in_loop = bool(tracer.loops) and tracer.loops[-1].frame is tracer.frame
    if contains(node.body, ast.Return) and not tracer.frame.is_kernel and not in_loop:
        # A `return` may be inside the `with`: the statements after it are traced on each path, after its contexts.
        statements += rest
    flow = tracer.execute(statements)
    del tracer.contexts[depth:]
    return flow


@statement(Enter)
def _enter(tracer: Tracer, node: Enter, rest: Sequence[ast.stmt]) -> Flow:
    manager = tracer.evaluate(node.item.context_expr)
    if not isinstance(manager, ContextManager) or not isinstance(manager.function, FunctionType):
        raise TileTypeError(
            f"'with' takes a function that is decorated with contextlib.contextmanager, got {describe(manager)}"
        )
    context, value = _started(tracer, manager)
    tracer.contexts.append(context)
    if node.item.optional_vars is not None:
        bind(tracer, node.item.optional_vars, value)
    return None


def _started(tracer: Tracer, manager: ContextManager) -> tuple[Context, KernelValue]:
    """The context after the statements of the generator up to its `yield`, and the value of the `yield`."""
    assert isinstance(manager.function, FunctionType)
    source = read(manager.function)
    body = _flattened(source.body)
    position = _position_of_yield(manager.function.__name__, body)
    frame = frame_of_call(tracer, manager.function, manager.arguments, manager.keywords, body)
    with _in(tracer, frame):
        tracer.execute(body[:position])
        node = _yield_of(body[position])
        assert node is not None
        value = None if node.value is None else tracer.evaluate(node.value)
        if isinstance(body[position], ast.Assign):
            bind(tracer, body[position].targets[0], None)  # type: ignore[attr-defined]
    return Context(frame, tracer.frame, body[position + 1 :]), value


@contextmanager
def _in(tracer: Tracer, frame: Frame) -> Iterator[None]:
    outer, tracer.frame = tracer.frame, frame
    try:
        yield
    finally:
        tracer.frame = outer


def _flattened(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, with those of a `with` that contains the `yield` in its place."""
    flat: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.With) and contains(node, ast.Yield):
            flat += _flattened(opened(node))
        else:
            flat.append(node)
    return flat


def _yield_of(node: ast.stmt) -> ast.Yield | None:
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Yield) else None


def _position_of_yield(name: str, body: Sequence[ast.stmt]) -> int:
    """The position of the only `yield`; raises TileTypeError if there is not exactly one, outside of loops and 'if'."""
    if contains(body, ast.Return):
        raise TileSyntaxError(f"the generator '{name}' of a context manager cannot return: use 'if' around its 'yield'")
    positions = [at for at, node in enumerate(body) if _yield_of(node) is not None]
    inner = sum(map(_reachable_yields, body)) - len(positions)
    if inner:
        raise TileTypeError(f"the 'yield' of the context manager '{name}' must be outside of loops and 'if'")
    if not positions:
        raise TileTypeError(_no_yield(name))
    if len(positions) > 1:
        raise TileTypeError(f"the context manager '{name}' must have one 'yield', it has {len(positions)}")
    return positions[0]


def _no_yield(name: str) -> str:
    return f"the context manager '{name}' has no 'yield' that it reaches: add one outside of loops and 'if'"


def _reachable_yields(node: ast.AST) -> int:
    """The number of yields, without those after a jump in their block."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return 0
    count = int(isinstance(node, ast.Yield | ast.YieldFrom))
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            count += _reachable_yields(child) if isinstance(child, ast.AST) else 0
            if isinstance(child, ast.Break | ast.Continue):
                break
    return count


@statement(Leave)
def _leave_innermost(tracer: Tracer, node: Leave, rest: Sequence[ast.stmt]) -> Flow:
    leave(tracer)
    return None


def leave(tracer: Tracer) -> None:
    """Traces the statements of the innermost context after its `yield`; functions of its generator are frozen."""
    context = tracer.contexts.pop()
    with _in(tracer, context.frame):
        tracer.execute(context.rest)
    names = context.owner.names
    names.update({name: freeze(value, context.frame) for name, value in names.items()})


@contextmanager
def left(tracer: Tracer, depth: int) -> Iterator[Callable[[KernelValue], KernelValue]]:
    """Leaves the contexts above `depth` before a jump; after the jump is recorded, they are as before.

    Yields a function for the value that the jump returns.
    """
    contexts = tracer.contexts[depth:]
    with tracer.restored_names([frame for context in contexts for frame in (context.frame, context.owner)]):
        before = list(tracer.contexts)
        while len(tracer.contexts) > depth:
            leave(tracer)
        try:
            yield lambda value: _frozen(value, contexts)
        finally:
            tracer.contexts[:] = before


def _frozen(value: KernelValue, contexts: Sequence[Context]) -> KernelValue:
    for context in reversed(contexts):
        value = freeze(value, context.frame)
    return value
