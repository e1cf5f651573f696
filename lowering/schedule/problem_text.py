"""The text of scheduling problems: one line per operation, edge, buffer and limit.

The text is canonical: equal problems have equal texts, in the order of the problem. It is the key of the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from tilec.lowering.schedule.parts import (
    WHOLE,
    Buffer,
    BufferUse,
    Edge,
    Kind,
    Limits,
    Memory,
    Operation,
    ProblemError,
    RegisterValue,
    Use,
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
        shares = (f"{use.unit}:{use.busy}" + (f":{use.share}" if use.share != WHOLE else "") for use in operation.uses)
        words.append("uses=" + ",".join(shares))
    return " ".join([*words, *_optional(operation, "role"), *["rare"] * operation.is_rare])


def _edge_line(edge: Edge) -> str:
    words = ["edge", edge.source, edge.target, f"latency={edge.latency}"]
    return " ".join([*words, *_optional(edge, "distance", "cross", "moved_kb"), *["same"] * edge.is_same])


def _buffer_line(buffer: Buffer) -> str:
    words = ["buffer", buffer.name, f"source={buffer.source}", f"memory={buffer.memory}", f"size={buffer.size}"]
    words.append(f"uses={_uses_text(buffer.uses)}")
    return " ".join([*words, *_optional(buffer, "overlay", "depth"), *["pooled"] * buffer.is_pooled])


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
    """The words of one line: names, flags, and values by key. Each word is taken once, and none may remain."""

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

    def flag(self, name: str) -> bool:
        found = name in self.names
        if found:
            self.names.remove(name)
        return found

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.pop(key, default)
        if value is None:
            raise self.error(f"expected {key}=")
        return value

    def number_of(self, key: str, default: str | None = None) -> int:
        return self.integer(self.text(key, default))

    def integer(self, text: str) -> int:
        if not text.isdecimal():
            raise self.error(f"expected a non-negative integer, got '{text}'")
        return int(text)

    def end(self) -> None:
        """Raises ProblemError if a word remains."""
        for word in (*self.names, *(f"{key}=" for key in self.values)):
            raise self.error(f"unexpected '{word}'")


def read_problem(text: str) -> Problem:
    """The problem with this text; raises ProblemError, with the line, if it cannot be read."""
    parts: dict[str, list[object]] = {keyword: [] for keyword in _READERS}
    for number, content in enumerate(text.splitlines(), 1):
        line = Line(content, number)
        if not line.names:
            continue
        keyword = line.name("a keyword")
        if keyword not in _READERS:
            raise line.error(f"unknown keyword '{keyword}'")
        parts[keyword].append(_READERS[keyword](line))
        line.end()
    if len(parts["problem"]) != 1 or len(parts["limits"]) != 1:
        raise ProblemError("expected one line 'problem' and one line 'limits'")
    limits = Limits(tuple(parts["memory"]), **parts["limits"][0])  # type: ignore[arg-type]
    columns: list[Any] = [tuple(parts[keyword]) for keyword in ("operation", "edge", "buffer", "registers")]
    operations, edges, buffers, registers = columns
    return Problem(str(parts["problem"][0]), operations, edges, buffers, registers, limits)


def _read_limits(line: Line) -> dict[str, int]:
    return {name: line.number_of(name) for name in _NUMBERS}


def _read_memory(line: Line) -> Memory:
    return Memory(line.name("a name"), line.number_of("capacity"))


def _read_operation(line: Line) -> Operation:
    name, kind = line.name("a name"), line.name("a class")
    if kind not in list(Kind):
        raise line.error(f"unknown class '{kind}': expected one of {', '.join(Kind)}")
    duration, warps, role = line.number_of("duration"), line.number_of("warps"), line.text("role", "")
    uses = tuple(_read_use(line, text) for text in line.text("uses", "").split(",") if text)
    return Operation(name, Kind(kind), duration, uses, warps, line.flag("rare"), role)


def _read_use(line: Line, text: str) -> Use:
    unit, *numbers = text.split(":")
    if len(numbers) not in (1, 2):
        raise line.error(f"expected unit:clocks or unit:clocks:percent, got '{text}'")
    return Use(unit, *(line.integer(number) for number in numbers))


def _read_edge(line: Line) -> Edge:
    source, target, latency = line.name("a source"), line.name("a target"), line.number_of("latency")
    distance, cross, moved_kb = (line.number_of(key, "0") for key in ("distance", "cross", "moved_kb"))
    return Edge(source, target, latency, distance, cross, moved_kb, line.flag("same"))


def _read_buffer(line: Line) -> Buffer:
    name, source, memory = line.name("a name"), line.text("source"), line.text("memory")
    size, depth, overlay = line.number_of("size"), line.number_of("depth", "0"), line.text("overlay", "")
    return Buffer(name, source, _read_uses(line), memory, size, overlay, line.flag("pooled"), depth)


def _read_registers(line: Line) -> RegisterValue:
    name, source, count = line.name("a name"), line.text("source"), line.number_of("count")
    return RegisterValue(name, source, _read_uses(line), count, line.number_of("delay", "0"))


def _read_uses(line: Line) -> tuple[BufferUse, ...]:
    uses = []
    for text in line.text("uses").split(","):
        operation, *numbers = text.split(":")
        if len(numbers) not in (1, 2):
            raise line.error(f"expected operation:clocks or operation:clocks:distance, got '{text}'")
        uses.append(BufferUse(operation, *(line.integer(number) for number in numbers)))
    return tuple(uses)


_READERS: dict[str, Callable[[Line], object]] = {
    "problem": lambda line: line.name("a name"),
    "limits": _read_limits,
    "memory": _read_memory,
    "operation": _read_operation,
    "edge": _read_edge,
    "buffer": _read_buffer,
    "registers": _read_registers,
}
