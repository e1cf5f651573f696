"""Functions that outlive the call that defines them: they capture the values of the outer names that they read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from tilec.ast_to_tile.control_flow.liveness import free_names
from tilec.ast_to_tile.tracer import Tracer
from tilec.ast_to_tile.values.frame import Frame
from tilec.ast_to_tile.values.structured_value import parts_of, with_parts
from tilec.ast_to_tile.values.values import KernelValue, LocalFunction


def define(tracer: Tracer, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
    """The value of a `def` or a lambda; the defaults are evaluated here, as in Python."""
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    return LocalFunction(node, tracer.frame, tuple(map(tracer.evaluate, defaults)))


def freeze(value: KernelValue, frame: Frame) -> KernelValue:
    """The value that a call returns: functions defined in the call capture the values of its names."""
    if isinstance(value, LocalFunction):
        defaults = tuple(freeze(default, frame) for default in value.defaults)
        value = LocalFunction(value.node, value.frame, defaults, value.captured)
        scopes = _scopes(value.frame, frame)
        return value if scopes is None else _capturing(value, frame, scopes)
    parts = parts_of(value)
    return value if not parts else with_parts(value, [freeze(part, frame) for part in parts])


def _scopes(inner: Frame, frame: Frame) -> list[Frame] | None:
    """The scopes from that of a function to the call `frame`, in which it is defined; None if it is not."""
    scopes = [inner]
    while scopes[-1] is not frame:
        outer = scopes[-1].outer
        if not isinstance(outer, Frame):
            return None
        scopes.append(outer)
    return scopes


def _capturing(function: LocalFunction, frame: Frame, scopes: Sequence[Frame]) -> LocalFunction:
    captured = dict(function.captured or ())
    waiting = [function, *(item for item in captured.values() if is_sibling(item, function))]
    for each in waiting:
        for name in sorted(free_names(each.node) - captured.keys()):
            scope = next((scope for scope in scopes if name in scope.locals), None)
            if scope is not None and name in scope.names:
                captured[name] = item = scope.names[name]
                # A function of the same scope may call this one: it takes its names from this function.
                waiting += [item] if is_sibling(item, function) else []
    kept = tuple((name, _captured(item, function, frame)) for name, item in captured.items())
    return replace(function, captured=kept)


def _captured(value: KernelValue, function: LocalFunction, frame: Frame) -> KernelValue:
    return replace(value, captured=()) if is_sibling(value, function) else freeze(value, frame)


def is_sibling(value: KernelValue, function: LocalFunction) -> TypeGuard[LocalFunction]:
    """Whether a value is a function of the same scope that has not captured values of its own."""
    return isinstance(value, LocalFunction) and value.frame is function.frame and not value.captured


def scope_of(function: LocalFunction) -> Frame:
    """The scope in which the names of a function are looked up."""
    if function.captured is None:
        return function.frame
    scope = function.frame.frozen(dict(function.captured))
    siblings = {name: item for name, item in function.captured if is_sibling(item, function)}
    scope.names |= {name: replace(item, frame=scope, captured=None) for name, item in siblings.items()}
    return scope
