"""The rest of a called function as a loop of one iteration, which each `return` leaves with its value."""

from __future__ import annotations

from collections.abc import Callable

from tilec.ast_to_tile.control_flow.merge import lower, rebuild, types_of
from tilec.ast_to_tile.control_flow.return_exits import VALUE, leave_loop, plan_of_values
from tilec.ast_to_tile.emitter import check_groups
from tilec.ast_to_tile.tracer import Flow, Jump, Loop, Returned, Tracer
from tilec.dialect.mlir import ir


def run_once(tracer: Tracer, run: Callable[[], Flow]) -> Returned:
    """Traces statements at the end of a called function, each once; the function returns None at their end."""
    exits: list[Jump] = []
    tracer.loops.append(Loop(tracer.frame, tracer.node, exits=exits, contexts=len(tracer.contexts)))
    try:
        block = tracer.trace(lambda: run() or leave_loop(tracer, None, tracer.node))
    finally:
        tracer.loops.pop()
    plan = plan_of_values(exits)
    check_groups(types_of(plan), "a function can return")
    for each in exits:
        with ir.InsertionPoint(each.block):
            tracer.emitter.build("break", lower(tracer.emitter, plan, each.names[VALUE]))
    made = tracer.emitter.build("loop", [], types_of(plan))
    block.move_into(made.regions[0])
    return Returned(rebuild(plan, iter(made.results)))
