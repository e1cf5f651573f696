"""Unrolls `for x in ct.static_iter(...)` at compile time: one copy of the body per element."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilec.ast_to_tile.assignment import bind
from tilec.ast_to_tile.compile_time import static_items
from tilec.errors import TileSyntaxError

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Flow, Tracer


def unroll(tracer: Tracer, node: ast.For) -> Flow:
    """Traces the body once per element."""
    call = node.iter
    assert isinstance(call, ast.Call)
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        raise TileSyntaxError("'ct.static_iter' takes one expression, by position")
    jump = _first_jump(node.body)
    if jump is not None:
        keyword = _JUMPS[type(jump)]
        message = f"'{keyword}' cannot be used in a loop over ct.static_iter: use 'if'"
        raise TileSyntaxError(message, tracer.frame.source_location(jump), tracer.frame.call_chain())
    for element in static_items(tracer, call.args[0]):
        bind(tracer, node.target, element)
        flow = tracer.execute(node.body)
        if flow is not None:
            return flow
    return None


_JUMPS: dict[type, str] = {ast.Break: "break", ast.Continue: "continue", ast.Return: "return"}


def _first_jump(statements: Sequence[ast.stmt], *, in_inner_loop: bool = False) -> ast.stmt | None:
    """The first statement that leaves the loop or its iteration; 'break' in an inner loop does not."""
    for statement in statements:
        if isinstance(statement, ast.Return) or isinstance(statement, ast.Break | ast.Continue) and not in_inner_loop:
            return statement
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
            inner = in_inner_loop or isinstance(statement, ast.For | ast.While)
            found = _first_jump([*statement.body, *getattr(statement, "orelse", ())], in_inner_loop=inner)
            if found is not None:
                return found
    return None
