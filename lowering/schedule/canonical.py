"""Problems without the names of their operations and values, which do not change the schedule."""

from __future__ import annotations

from dataclasses import replace

from tilec.lowering.schedule.parts import BufferUse
from tilec.lowering.schedule.problem import Problem


def canonical(problem: Problem) -> Problem:
    """The problem with operations o0, o1, ..., buffers b0, ..., register values v0, ... and roles r0, ..."""
    names = {operation.name: f"o{number}" for number, operation in enumerate(problem.operations)}
    buffers = {buffer.name: f"b{number}" for number, buffer in enumerate(problem.buffers)} | {"": ""}
    roles = {
        role: f"r{number}" for number, role in enumerate(dict.fromkeys(op.role for op in problem.operations if op.role))
    }
    roles[""] = ""

    def uses(entries: tuple[BufferUse, ...]) -> tuple[BufferUse, ...]:
        return tuple(replace(use, operation=names[use.operation]) for use in entries)

    return Problem(
        "loop",
        tuple(replace(op, name=names[op.name], role=roles[op.role]) for op in problem.operations),
        tuple(replace(edge, source=names[edge.source], target=names[edge.target]) for edge in problem.edges),
        tuple(
            replace(
                buffer,
                name=buffers[buffer.name],
                source=names[buffer.source],
                uses=uses(buffer.uses),
                overlay=buffers[buffer.overlay],
            )
            for buffer in problem.buffers
        ),
        tuple(
            replace(value, name=f"v{number}", source=names[value.source], uses=uses(value.uses))
            for number, value in enumerate(problem.registers)
        ),
        problem.limits,
    )
