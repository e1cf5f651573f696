"""Changes of the debug information of a compile between its stages, and of the names of values in the text of a stage.

None of them is part of what a kernel computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from ptx_instructions import instructions

import tilec
from tilec.dialect.mlir import ir, passmanager
from tilec.driver import stages

# The stages whose modules have locations.
STAGES = stages.STAGE_NAMES[: stages.STAGE_NAMES.index("ptx")]
Change = Callable[[ir.Module], None]

_STRING_OR_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w$.-]+)')


def strip(module: ir.Module) -> None:
    """Removes all locations, as `mlir-opt --strip-debuginfo` does."""
    with module.context:
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)


def scatter(module: ir.Module) -> None:
    """Gives each operation a location of its own, in descending order, under another name."""
    lines = count(1_000_000, -1)

    def visit(op: ir.Operation) -> ir.WalkResult:
        line = next(lines)
        op.location = ir.Location.name(f"name{line}", ir.Location.file("other.py", line, 1))
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)


def compiled(source: Any, signature: str | None, target: str, change: Change, after: tuple[str, ...]) -> list[str]:
    """The instructions of a compile to PTX in which a change follows some stages."""
    with _changed_stages(change, after):
        return instructions(tilec.compile(source, signature=signature, target=target, stop="ptx").ptx)


@contextmanager
def _changed_stages(change: Change, after: tuple[str, ...]) -> Iterator[None]:
    step, open_source = stages._step, stages.open_source

    def changed_step(stage: Any, *arguments: Any) -> Any:
        made = step(stage, *arguments)
        if stage.name in after:
            change(made.value)
        return made

    def opened(*arguments: Any) -> Any:
        source = open_source(*arguments)
        if source.stage in after:
            change(source.value)
        return source

    stages._step, stages.open_source = changed_step, opened
    try:
        yield
    finally:
        stages._step, stages.open_source = step, open_source


def with_other_names(text: str) -> str:
    """The text of a stage in which each value has another name."""
    return _STRING_OR_VALUE.sub(lambda found: f"%other_{found[1]}" if found[1] else found[0], text)
