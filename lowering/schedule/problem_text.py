"""The text of scheduling problems: one line per operation, edge, buffer and limit.

The text is canonical: equal problems have equal texts, in the order of the problem. It is the key of the cache.
"""

from __future__ import annotations

from dataclasses import fields

from tilec.lowering.schedule.parts import (
    Buffer,
    BufferUse,
    Edge,
    Limits,
    Operation,
    ProblemError,
    RegisterValue,
)
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


class Line:
    """The words of one line: names, and numbers by key. Each word is taken once, and none may remain."""

    def __init__(self, text: str, number: int) -> None:
        self.number = number
        words = text.split()
        self.names = [word for word in words if "=" not in word]
        self.values = dict(word.split("=", 1) for word in words if "=" in word)

    def error(self, message: str) -> ProblemError:
        return ProblemError(f"line {self.number}: {message}")

    def name(self, what: str) -> str:
        if not self.names:
            raise self.error(f"expected {what}")
        return self.names.pop(0)

    def number_of(self, key: str) -> int:
        text = self.values.pop(key, None)
        if text is None:
            raise self.error(f"expected {key}=")
        if not text.isdecimal():
            raise self.error(f"expected a non-negative integer, got '{text}'")
        return int(text)

    def end(self) -> None:
        """Raises ProblemError if a word remains."""
        for word in (*self.names, *(f"{key}=" for key in self.values)):
            raise self.error(f"unexpected '{word}'")
