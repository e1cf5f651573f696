"""`return` inside a `while` of a called function: the loop is left with a flag and the value.

After the loop, the function returns the value if the flag is set.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilec.ast_to_tile.branches import either, result_of
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.merge import Carried, Plan, Several, lower, types_of
from tilec.ast_to_tile.tracer import Flow, Jump, Left, Returned, Tracer
from tilec.ast_to_tile.values import KernelValue, Tile
from tilec.dialect.mlir import ir
from tilec.errors import TileSyntaxError, TileTypeError

# No Python name has a space.
FLAG, VALUE = "returned flag", "returned value"


def leave_loop(tracer: Tracer, value: KernelValue, node: ast.AST) -> Flow:
    """Records an exit of the innermost loop of the function, which returns `value`."""
    loop = tracer.loops[-1]
    if not isinstance(loop.node, ast.While) or loop.exits is None:
        raise TileSyntaxError("'return' inside a 'for' loop is not supported: leave the loop with 'break' first")
    names = dict(tracer.frame.names) | {FLAG: True, VALUE: value}
    loop.exits.append(Jump(ir.InsertionPoint.current.block, names, node))
    return Left()


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
        return Returned(either(tracer, returned, lambda: value, lambda: result_of(tracer, rest)))
    exiting = tracer.trace(lambda: leave_loop(tracer, value, node))
    made = tracer.emitter.build("if", [returned.value])
    exiting.move_into(made.regions[0])
    return None


def filled(emitter: Emitter, plan: Plan, names: dict[str, KernelValue], name: str) -> list[ir.Value]:
    """The operands of an exit for a name; an exit that returns no value passes zeros, which are not read."""
    if name == FLAG:
        return lower(emitter, plan, FLAG in names)
    if name != VALUE or name in names:
        return lower(emitter, plan, names[name])
    return _zeros(emitter, plan)


def _zeros(emitter: Emitter, plan: Plan) -> list[ir.Value]:
    if isinstance(plan, Carried):
        return [emitter.constant(0, plan.dtype, plan.shape).value]
    if isinstance(plan, Several):
        return [operand for item in plan.items for operand in _zeros(emitter, item)]
    if types_of(plan):
        raise TileTypeError("an array cannot be returned from inside a loop: leave the loop with 'break' first")
    return []
