"""Names of registers, numbered by class in the order of their definitions in the text."""

from __future__ import annotations

from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.lowering.ptx.flow import Flow
from tilec.lowering.ptx.program import Program


class Registers:
    """`names[value]` is the register of a value; `temporary` adds registers for cycles of copies."""

    def __init__(self, program: Program, flow: Flow, leader: list[int]) -> None:
        self._counts = dict.fromkeys(REGISTER_CLASSES, 0)
        self._classes = dict(enumerate(program.classes))
        named: dict[int, str] = {}
        self.names = [""] * len(leader)
        for number in flow.order:
            block = program.blocks[number]
            self._name(block.arguments, leader, named)
            for instruction in block.instructions:
                self._name(instruction.results, leader, named)
        self._spare: dict[str, str] = {}

    def _name(self, values: list[int], leader: list[int], named: dict[int, str]) -> None:
        for value in values:
            first = leader[value]
            name = named.get(first)
            if name is None:
                name = named[first] = self._new(self._classes[value])
            self.names[value] = name

    def _new(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{REGISTER_CLASSES[kind].prefix}{self._counts[kind]}"

    def temporary(self, kind: str) -> str:
        """The spare register of a class."""
        if kind not in self._spare:
            self._spare[kind] = self._new(kind)
        return self._spare[kind]

    def declarations(self) -> list[str]:
        """The .reg lines of all classes in use."""
        return [
            f".reg .{row.suffix} {row.prefix}<{self._counts[kind] + 1}>;"
            for kind, row in REGISTER_CLASSES.items()
            if self._counts[kind]
        ]
