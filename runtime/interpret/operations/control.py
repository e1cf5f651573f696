"""Branches, loops and their terminators."""

from __future__ import annotations

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.integer import limits, scalar, wrap
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Leave, Step

Values = tuple[object, ...]


@interprets("yield", "continue", "break", "return", elementwise=True)
def _leave(op: Step, _machine: Machine, operands: Values) -> Leave:
    return Leave(op.name.removeprefix("cuda_tile."), operands)


@interprets("if")
def _if(op: Step, machine: Machine, condition: np.ndarray) -> Values | Leave:
    block = op.blocks[0] if condition else op.blocks[1]
    if block is None:
        return ()
    leave = machine.run(block)
    return leave.values if leave.kind == "yield" else leave


@interprets("for")
def _for(
    op: Step, machine: Machine, lower: np.ndarray, upper: np.ndarray, step: np.ndarray, carried: Values
) -> Values | Leave:
    element = op.types[0].element
    signedness = "unsigned" if op["unsignedCmp"] else "signed"
    start, stop, stride = (scalar(bound, element, signedness) for bound in (lower, upper, step))
    if stride <= 0:
        raise Fault(f"{undefined_behaviour.STEP}, got {stride}")
    counters = range(start, stop, stride)
    for counter in counters:
        induction = wrap(np.asarray(counter % 2**64, np.uint64), element)
        leave = machine.run(op.body, (induction, *carried))
        if leave.kind != "continue":
            return leave
        carried = leave.values
    if counters and counters[-1] + stride > limits(element, signedness)[1]:
        machine.undefined(
            f"{undefined_behaviour.COUNTER}: after its last iteration {counters[-1]} + {stride} does not fit "
            f"{signedness} {element.name}"
        )
    return carried


@interprets("loop")
def _loop(op: Step, machine: Machine, carried: Values) -> Values | Leave:
    while True:
        changes = machine.memory.changes
        leave = machine.run(op.body, carried)
        if leave.kind == "break":
            return leave.values
        if leave.kind != "continue":
            return leave
        if machine.memory.changes == changes and _same(carried, leave.values):
            raise Fault(
                "infinite loop: an iteration changed neither the carried values nor memory, "
                "and the interpreter runs one tile block at a time, so no other block can end the wait. "
                "Compiled code may remove this loop, because a loop without effects is assumed to end"
            )
        carried = leave.values


def _same(before: Values, after: Values) -> bool:
    """Whether all values are bitwise equal; tokens always are."""
    return all(_bytes(old) == _bytes(new) for old, new in zip(before, after, strict=True))


def _bytes(value: object) -> bytes | type:
    return value.tobytes() if isinstance(value, np.ndarray) else type(value)
