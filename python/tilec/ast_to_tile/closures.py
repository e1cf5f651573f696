"""Functions that outlive the call that defines them: they capture the values of the outer names that they read."""

from __future__ import annotations

import ast

from tilec.ast_to_tile.frame import Frame
from tilec.ast_to_tile.liveness import read
from tilec.ast_to_tile.structured_value import parts_of, with_parts
from tilec.ast_to_tile.tracer import Tracer
from tilec.ast_to_tile.values import KernelValue, LocalFunction


def define(tracer: Tracer, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
    """The value of a `def` or a lambda; the defaults are evaluated here, as in Python."""
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    return LocalFunction(node, tracer.frame, tuple(map(tracer.evaluate, defaults)))


def freeze(value: KernelValue, frame: Frame) -> KernelValue:
    """The value that a call returns: functions defined in the call capture the values of its names."""
    if isinstance(value, LocalFunction) and value.frame is frame and value.captured is None:
        names = sorted(read(value.node) & frame.names.keys())
        kept = [(name, frame.names[name]) for name in names]
        # A function that reads its own name would capture itself, and the recursion would not end.
        values = [
            (name, item if isinstance(item, LocalFunction) and item.node is value.node else freeze(item, frame))
            for name, item in kept
        ]
        return LocalFunction(value.node, frame, value.defaults, tuple(values))
    parts = parts_of(value)
    return value if not parts else with_parts(value, [freeze(part, frame) for part in parts])
