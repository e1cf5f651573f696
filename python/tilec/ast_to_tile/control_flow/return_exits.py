"""Exits of a loop by `return` in a called function: they pass a flag and the value."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilec.ast_to_tile.control_flow.merge import Carried, NoMerge, Plan, Several, lower, unify
from tilec.ast_to_tile.control_flow.merged_arrays import CarriedArray, null_array
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.tracer import Flow, Jump, Left, Tracer
from tilec.ast_to_tile.values.values import KernelValue, Unusable
from tilec.dialect.mlir import ir
from tilec.errors import TileTypeError

# No Python name has a hyphen.
FLAG, VALUE = "returned-flag", "returned-value"
UNLIKE_RETURNS = "the values that a function returns are incompatible"


def leave_loop(tracer: Tracer, value: KernelValue, node: ast.AST) -> Flow:
    """Records an exit of the innermost loop of the function, which returns `value`."""
    exits = tracer.loops[-1].exits
    assert exits is not None
    names = dict(tracer.frame.names) | {FLAG: True, VALUE: value}
    exits.append(Jump(ir.InsertionPoint.current.block, names, node))
    return Left()


def plan_of_flags(exits: Sequence[Jump]) -> Plan:
    """The plan of whether a loop is left by a `return`."""
    return unify([FLAG in each.names for each in exits], local=True)


def plan_of_values(exits: Sequence[Jump]) -> Plan:
    """The plan of the value that a function returns at some exits; raises TileTypeError if they are incompatible."""
    try:
        return unify([each.names[VALUE] for each in exits if VALUE in each.names], local=True)
    except NoMerge as problem:
        raise TileTypeError(f"{UNLIKE_RETURNS}: {problem.message}") from problem


def has_value(names: dict[str, KernelValue], name: str) -> bool:
    """Whether a name has a value at an exit. At a `return` it may have none, if only what follows the loop reads it."""
    return name in names and not isinstance(names[name], Unusable)


def filled(emitter: Emitter, plan: Plan, names: dict[str, KernelValue], name: str) -> list[ir.Value]:
    """The operands of an exit for a name, which are zeros where nothing reads them.

    An exit that returns no value has none to pass. An exit that returns one may have no value of other names, or one
    that does not fit.
    """
    if name == FLAG:
        return lower(emitter, plan, FLAG in names)
    if not has_value(names, name):
        return _zeros(emitter, plan)
    try:
        return lower(emitter, plan, names[name])
    except NoMerge:
        if name == VALUE or FLAG not in names:
            raise
        return _zeros(emitter, plan)


def _zeros(emitter: Emitter, plan: Plan) -> list[ir.Value]:
    if isinstance(plan, Carried):
        return [emitter.constant(0, plan.dtype, plan.shape).value]
    if isinstance(plan, Several):
        return [operand for item in plan.items for operand in _zeros(emitter, item)]
    return null_array(emitter, plan) if isinstance(plan, CarriedArray) else []
