"""`for x in ct.static_iter(...)`: the body once for each element, while compiling."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.assignment import bind
from tilec.ast_to_tile.liveness import contains
from tilec.ast_to_tile.values import Range, describe
from tilec.errors import TileSyntaxError, TileTypeError
from tilec.language import control as language

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Flow, Tracer


def is_static_iteration(tracer: Tracer, node: ast.expr) -> bool:
    """Whether the loop is over `ct.static_iter(...)`."""
    return isinstance(node, ast.Call) and tracer.evaluate(node.func) is language.static_iter


def unroll(tracer: Tracer, node: ast.For) -> Flow:
    """The bodies one behind the other."""
    call = node.iter
    assert isinstance(call, ast.Call)
    if len(call.args) != 1 or call.keywords:
        raise TileSyntaxError("ct.static_iter takes one argument")
    if _jumps(node.body):
        raise TileSyntaxError("'break' and 'continue' cannot be used in a loop over ct.static_iter: use 'if'")
    if contains(node, ast.Return):
        raise TileSyntaxError("'return' cannot be used in a loop over ct.static_iter: use 'if'")
    for element in _elements(tracer.evaluate(call.args[0])):
        bind(tracer, node.target, element)
        flow = tracer.execute(node.body)
        if flow is not None:
            return flow
    return None


def _jumps(statements: list[ast.stmt]) -> bool:
    """Whether a break or continue belongs to the loop around the statements."""
    return any(
        isinstance(statement, ast.Break | ast.Continue)
        or isinstance(statement, ast.If)
        and (_jumps(statement.body) or _jumps(statement.orelse))
        for statement in statements
    )


def _elements(iterable: Any) -> list[Any]:
    if isinstance(iterable, Range):
        bounds = [arguments.known(bound) for bound in (iterable.start, iterable.stop, iterable.step)]
        if all(isinstance(bound, int) for bound in bounds):
            return list(range(*bounds))
        raise TileTypeError("ct.static_iter takes a range with constant bounds")
    if isinstance(iterable, tuple | list):
        return list(iterable)
    raise TileTypeError(f"ct.static_iter takes a tuple or a range, got {describe(iterable)}")
