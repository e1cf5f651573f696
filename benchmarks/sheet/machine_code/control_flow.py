"""The control-flow graph of machine code: blocks, dominators and natural loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sheet.machine_code.disassembly import Instruction

_BRANCHES = ("BRA", "BRX", "BRXU", "JMP", "JMX")
_ENDS = ("EXIT", "RET", "KILL")
_REGISTER = re.compile(r"\bU?[RP]\d+\b")


@dataclass(frozen=True)
class Loop:
    """A natural loop: its header and its blocks, as numbers; `depth` is 0 for loops in no other loop."""

    header: int
    blocks: frozenset[int]
    depth: int


@dataclass(frozen=True)
class Graph:
    """The blocks of a function that are reached from its first instruction."""

    instructions: Sequence[Instruction]
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", tuple(sorted(self._leaders())))

    def _leaders(self) -> set[int]:
        """The numbers of the instructions that start a block."""
        numbers = {instruction.address: number for number, instruction in enumerate(self.instructions)}
        leaders = {0}
        for number, instruction in enumerate(self.instructions):
            if _ends_block(instruction) and number + 1 < len(self.instructions):
                leaders.add(number + 1)
            if _jumps(instruction) and instruction.target in numbers:
                leaders.add(numbers[instruction.target])
        return leaders

    def block(self, number: int) -> Sequence[Instruction]:
        """The instructions of a block."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.instructions)
        return self.instructions[self.starts[number] : end]

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """The blocks that follow each block; a call is followed by its callee and by the next instruction."""
        blocks = {self.instructions[start].address: number for number, start in enumerate(self.starts)}
        found = []
        for number in range(len(self.starts)):
            last = self.block(number)[-1]
            follows = [blocks[last.target]] if _jumps(last) and last.target in blocks else []
            if _falls_through(last) and number + 1 < len(self.starts):
                follows.append(number + 1)
            found.append(tuple(dict.fromkeys(follows)))
        return tuple(found)

    @cached_property
    def predecessors(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {number: [] for number in self.order}
        for number in self.order:
            for following in self.successors[number]:
                found[following].append(number)
        return found

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The reached blocks in reverse postorder."""
        seen, postorder, stack = {0}, list[int](), [(0, iter(self.successors[0]))]
        while stack:
            number, rest = stack[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                postorder.append(number)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(self.successors[following])))
        return tuple(reversed(postorder))

    @cached_property
    def dominators(self) -> dict[int, int]:
        """The immediate dominator of each block, by the iteration of Cooper, Harvey and Kennedy; 0 has itself."""
        rank = {number: position for position, number in enumerate(self.order)}
        found = {0: 0}
        changed = True
        while changed:
            changed = False
            for number in self.order[1:]:
                known = [each for each in self.predecessors[number] if each in found]
                nearest = known[0]
                for other in known[1:]:
                    nearest = _meet(nearest, other, found, rank)
                changed |= found.get(number) != nearest
                found[number] = nearest
        return found

    def dominating(self, number: int) -> Iterator[int]:
        """The blocks that dominate a block, itself first."""
        yield number
        while number:
            number = self.dominators[number]
            yield number

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops, by header; back edges with one header make one loop."""
        bodies: dict[int, set[int]] = {}
        for number in self.order:
            for header in self.successors[number]:
                if header in self.dominating(number):
                    bodies.setdefault(header, {header}).update(self._body(number, header))
        return tuple(
            Loop(header, frozenset(body), sum(header in other for other in bodies.values()) - 1)
            for header, body in sorted(bodies.items())
        )

    def _body(self, latch: int, header: int) -> set[int]:
        """The blocks that reach the latch without the header."""
        body, stack = {header, latch}, [latch]
        while stack:
            number = stack.pop()
            if number != header:
                new = [each for each in self.predecessors[number] if each not in body]
                body.update(new)
                stack += new
        return body

    def of(self, blocks: frozenset[int] | set[int] | Sequence[int]) -> list[Instruction]:
        """The instructions of some blocks."""
        return [instruction for number in sorted(blocks) for instruction in self.block(number)]


def _meet(one: int, other: int, dominators: dict[int, int], rank: dict[int, int]) -> int:
    while one != other:
        while rank[one] > rank[other]:
            one = dominators[one]
        while rank[other] > rank[one]:
            other = dominators[other]
    return one


def _name(instruction: Instruction) -> str:
    return instruction.opcode.split(".")[0]


def _jumps(instruction: Instruction) -> bool:
    return _name(instruction) in (*_BRANCHES, "CALL")


def _ends_block(instruction: Instruction) -> bool:
    return _jumps(instruction) or _name(instruction) in _ENDS


def _falls_through(instruction: Instruction) -> bool:
    """Whether the next instruction can follow: unless a jump or an end has no condition."""
    if _name(instruction) in _ENDS:
        return instruction.predicate not in ("", "@PT")
    if _name(instruction) not in _BRANCHES:
        return True
    conditions = _REGISTER.findall(instruction.operands)
    return instruction.predicate not in ("", "@PT") or bool(conditions)
