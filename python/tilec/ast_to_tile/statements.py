"""Executes statements other than branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilec.ast_to_tile.assignment import bind, update_element
from tilec.ast_to_tile.control_flow.contexts import left
from tilec.ast_to_tile.control_flow.loops import jump
from tilec.ast_to_tile.control_flow.return_exits import leave_loop
from tilec.ast_to_tile.expressions import BINARY
from tilec.ast_to_tile.operators import operate
from tilec.ast_to_tile.static_calls import raise_static_exception
from tilec.ast_to_tile.tracer import Flow, Left, Loop, Returned, Tracer, statement
from tilec.ast_to_tile.values.closures import define, freeze
from tilec.ast_to_tile.values.values import KernelValue
from tilec.errors import TileSyntaxError, TileTypeError

Rest = Sequence[ast.stmt]


@statement(ast.Assign)
def _assign(tracer: Tracer, node: ast.Assign, rest: Rest) -> Flow:
    value = tracer.evaluate(node.value)
    for target in node.targets:
        bind(tracer, target, value)
    return None


@statement(ast.AnnAssign)
def _annotated(tracer: Tracer, node: ast.AnnAssign, rest: Rest) -> Flow:
    if node.value is not None:
        bind(tracer, node.target, tracer.evaluate(node.value))
    return None


@statement(ast.AugAssign)
def _augmented(tracer: Tracer, node: ast.AugAssign, rest: Rest) -> Flow:
    operator = BINARY[type(node.op)]
    if isinstance(node.target, ast.Subscript):
        update_element(
            tracer, node.target, lambda before: operate(tracer, operator, before, tracer.evaluate(node.value))
        )
        return None
    if not isinstance(node.target, ast.Name):
        raise TileSyntaxError("only names and elements can be changed by an operator: attributes cannot be assigned")
    before = tracer.frame.lookup(node.target.id)
    tracer.frame.assign(node.target.id, operate(tracer, operator, before, tracer.evaluate(node.value)), node)
    return None


@statement(ast.Expr)
def _expression(tracer: Tracer, node: ast.Expr, rest: Rest) -> Flow:
    tracer.evaluate(node.value)
    return None


@statement(ast.Pass)
def _pass(tracer: Tracer, node: ast.Pass, rest: Rest) -> Flow:
    return None


@statement(ast.Raise)
def _raise(tracer: Tracer, node: ast.Raise, rest: Rest) -> Flow:
    raise_static_exception(tracer, node.exc)
    return None


@statement(ast.FunctionDef)
def _function(tracer: Tracer, node: ast.FunctionDef, rest: Rest) -> Flow:
    if node.decorator_list:
        raise TileSyntaxError("functions inside a kernel cannot have decorators")
    tracer.frame.assign(node.name, define(tracer, node), node)
    return None


@statement(ast.Return)
def _return(tracer: Tracer, node: ast.Return, rest: Rest) -> Flow:
    value = None if node.value is None else tracer.evaluate(node.value)
    with left(tracer, tracer.frame.contexts) as frozen:
        return _returned(tracer, freeze(frozen(value), tracer.frame))


def _returned(tracer: Tracer, value: KernelValue) -> Flow:
    loop = _own_loop(tracer)
    if not tracer.frame.is_kernel:
        return Returned(value) if loop is None else leave_loop(tracer, value, tracer.node)
    if value is not None:
        raise TileTypeError("a kernel returns nothing: write results with ct.store")
    tracer.emitter.build("return")
    return Returned(None)


def _own_loop(tracer: Tracer) -> Loop | None:
    return tracer.loops[-1] if tracer.loops and tracer.loops[-1].frame is tracer.frame else None


@statement(ast.Break)
def _break(tracer: Tracer, node: ast.Break, rest: Rest) -> Flow:
    loop = _own_loop(tracer)
    assert loop is not None and loop.exits is not None
    with left(tracer, loop.contexts):
        loop.exits.append(jump(tracer, node))
    return Left()


@statement(ast.Continue)
def _continue(tracer: Tracer, node: ast.Continue, rest: Rest) -> Flow:
    loop = _own_loop(tracer)
    assert loop is not None
    with left(tracer, loop.contexts):
        loop.repeats.append(jump(tracer, node))
    return Left()
