"""Shrinks a failing program in place: removes stores, loops and unused values, and replaces values by constants."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from elements import ELEMENTS
from program_text import Block, Environment, Program, Step, Value, every_block

SECONDS = 60.0
_DEFINED = re.compile(r"^((?:%\w+(?::\d+)?(?:, )?)+) = ")
Saved = list[tuple[Block, list[Step]]]


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program after all changes that preserve its failure."""
    deadline = time.monotonic() + SECONDS
    for simpler in (replace(program, hints={}), replace(program, without=())):
        if (program.hints, program.without) != (simpler.hints, simpler.without) and _fails(simpler, fails):
            program = simpler
    changed = True
    while changed:
        changed = False
        for block, step, replacement in list(_changes(program)):
            if time.monotonic() > deadline:
                return _without_unused_parameters(program)
            if not any(one is step for one in block.steps):
                continue
            saved = [(one, list(one.steps)) for one in every_block(program.body)]
            at = next(number for number, one in enumerate(block.steps) if one is step)
            block.steps[at : at + 1] = replacement
            _remove_dead(program)
            if _fails(_without_unused_parameters(program), fails):
                changed = True
            else:
                for one, steps in saved:
                    one.steps = steps
    return _without_unused_parameters(program)


def _fails(program: Program, fails: Callable[[Program], bool]) -> bool:
    try:
        return fails(program)
    except Exception:
        # A candidate without a required step cannot run.
        return False


def _changes(program: Program) -> Iterator[tuple[Block, Step, list[Step]]]:
    """Steps and their replacements: first stores and regions, then single operations in reverse order."""
    blocks = list(every_block(program.body))
    for block in blocks:
        for step in reversed(block.steps):
            if "store_" in step.text:
                yield block, step, []
            elif step.blocks():
                yield block, step, [_zero_constant(value) for value in step.results]
    for block in blocks:
        for step in reversed(block.steps):
            if step.operands and len(step.results) == 1 and not step.blocks():
                yield block, step, [_zero_constant(step.results[0])]


def _zero_constant(value: Value) -> Step:
    """A constant that replaces a computed value."""
    array = np.zeros(value.shape, ELEMENTS[value.element].dtype)
    literal = "false" if value.element == "i1" else "0.0" if ELEMENTS[value.element].is_float else "0"

    def run(environment: Environment) -> None:
        environment[value] = array

    return Step(f"{value.name} = constant <{value.element}: {literal}> : {value.type}", run, [value])


def _remove_dead(program: Program) -> None:
    while _removed_dead(program):
        pass


def _removed_dead(program: Program) -> bool:
    """Removes a step without stores whose results are unused; returns whether a step was removed."""
    uses: dict[str, int] = {}
    for name in re.findall(r"%\w+", program.text()):
        uses[name] = uses.get(name, 0) + 1
    for block in every_block(program.body):
        for step in reversed(block.steps):
            text = "\n".join(step.lines(""))
            defined = _DEFINED.match(text)
            names = re.findall(r"%\w+", defined[1]) if defined else []
            leaves = "break" in text or "return" in text or "continue" in _text_outside_loops(step, text)
            if "store_" not in text and not leaves:
                if all(uses[name] == 1 for name in names):
                    block.steps = [one for one in block.steps if one is not step]
                    return True
    return False


def _text_outside_loops(step: Step, text: str) -> str:
    """The text of a step that may contain a `continue` of the enclosing loop; empty for a loop."""
    return "" if " for " in step.text or "loop iter" in step.text else text


def _without_unused_parameters(program: Program) -> Program:
    text = "\n".join(program.body.lines(""))
    used = set(re.findall(r"%\w+", text))
    return replace(program, parameters=[one for one in program.parameters if one.name in used])
