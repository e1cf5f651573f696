"""`return` inside a loop of a called function: after the loop, the function returns the value if the flag is set."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilec.ast_to_tile.control_flow.branches import either, result_of
from tilec.ast_to_tile.control_flow.return_exits import FLAG, UNLIKE_RETURNS, VALUE, leave_loop
from tilec.ast_to_tile.tracer import Flow, Returned, Tracer
from tilec.ast_to_tile.values.values import Tile


def after_loop(tracer: Tracer, node: ast.AST, rest: Sequence[ast.stmt]) -> Flow:
    """Returns from the function if the loop was left by a `return`; `rest` are the statements after the loop."""
    names = tracer.frame.names
    returned, value = names.pop(FLAG, False), names.pop(VALUE, None)
    if returned is False:
        return None
    in_loop = bool(tracer.loops) and tracer.loops[-1].frame is tracer.frame
    if returned is True:
        return leave_loop(tracer, value, node) if in_loop else Returned(value)
    assert isinstance(returned, Tile)
    if not in_loop:
        return Returned(either(tracer, returned, lambda: value, lambda: result_of(tracer, rest), UNLIKE_RETURNS))
    exiting = tracer.trace(lambda: leave_loop(tracer, value, node))
    made = tracer.emitter.build("if", [returned.value])
    exiting.move_into(made.regions[0])
    return None
