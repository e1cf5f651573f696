"""The text of scheduling problems: one line per operation, edge, buffer and limit.

The text is canonical: equal problems have equal texts, in the order of the problem. It is the key of the cache.
"""

from __future__ import annotations

from dataclasses import fields

from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Limits, Operation, RegisterValue
from tilec.lowering.schedule.problem import Problem

_NUMBERS = tuple(field.name for field in fields(Limits) if field.name != "memories")


def write_problem(problem: Problem) -> str:
    """The canonical text of a problem."""
    limits = problem.limits
    lines = [f"problem {problem.name}", " ".join(["limits", *(f"{name}={getattr(limits, name)}" for name in _NUMBERS)])]
    lines += [f"memory {memory.name} capacity={memory.capacity}" for memory in limits.memories]
    lines += [_operation_line(operation) for operation in problem.operations]
    lines += [_edge_line(edge) for edge in problem.edges]
    lines += [_buffer_line(buffer) for buffer in problem.buffers]
    lines += [_registers_line(value) for value in problem.registers]
    return "\n".join(lines) + "\n"


def _operation_line(operation: Operation) -> str:
    words = ["operation", operation.name, operation.kind, f"duration={operation.duration}", f"warps={operation.warps}"]
    if operation.uses:
        words.append("uses=" + ",".join(f"{use.unit}:{use.busy}" for use in operation.uses))
    return " ".join([*words, *_optional(operation, "role"), *["rare"] * operation.is_rare])


def _edge_line(edge: Edge) -> str:
    words = ["edge", edge.source, edge.target, f"latency={edge.latency}"]
    return " ".join([*words, *_optional(edge, "distance", "cross", "moved_kb"), *["same"] * edge.is_same])


def _buffer_line(buffer: Buffer) -> str:
    words = ["buffer", buffer.name, f"source={buffer.source}", f"memory={buffer.memory}", f"size={buffer.size}"]
    words.append(f"uses={_uses_text(buffer.uses)}")
    return " ".join([*words, *_optional(buffer, "overlay")])


def _registers_line(value: RegisterValue) -> str:
    words = ["registers", value.name, f"source={value.source}", f"count={value.count}"]
    return " ".join([*words, f"uses={_uses_text(value.uses)}", *_optional(value, "delay")])


def _optional(part: object, *names: str) -> list[str]:
    """The fields of a part that are neither zero nor empty."""
    return [f"{name}={getattr(part, name)}" for name in names if getattr(part, name)]


def _uses_text(uses: tuple[BufferUse, ...]) -> str:
    distances = (f":{use.distance}" if use.distance else "" for use in uses)
    return ",".join(f"{use.operation}:{use.completion}{at}" for use, at in zip(uses, distances, strict=True))
