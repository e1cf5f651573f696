"""The control-flow graph of machine code: blocks, dominators, natural loops, and the roles of warps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from sheet.disassembly import Instruction

_BRANCHES = ("BRA", "BRX", "BRXU", "JMP", "JMX")
_ENDS = ("EXIT", "RET", "KILL")
# Instructions of which one role has all: TMA, tensor cores and tensor memory.
_ANCHOR = re.compile(r"UTMA(LDG|STG|REDG)|UBLK|UTC\w*MMA|[HQI]GMMA|LDTM|STTM|MUFU\.EX2")
_THREAD = re.compile(r"SR_TID|SR_VIRTID|SR_VIRTUALSMID")
_REGISTER = re.compile(r"\bU?[RP]\d+\b")
_PREDICATE = re.compile(r"U?P\d+$")


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

    def reached(self, number: int) -> set[int]:
        """The blocks that follow a block on some path."""
        found, stack = set[int](), [number]
        while stack:
            new = [each for each in self.successors[stack.pop()] if each not in found]
            found.update(new)
            stack += new
        return found

    def of(self, blocks: frozenset[int] | set[int] | Sequence[int]) -> list[Instruction]:
        """The instructions of some blocks."""
        return [instruction for number in sorted(blocks) for instruction in self.block(number)]


def roles(graph: Graph) -> dict[int, frozenset[int]]:
    """The blocks of each role by its first block; empty if all warps run the same code.

    A role is the part that one side of a branch dominates, if the branch depends on the number of the thread, lies in
    no loop, and the other side has TMA, tensor core or tensor memory instructions that this side does not reach.
    """
    anchors = [number for number in graph.order if any(_ANCHOR.match(each.opcode) for each in graph.block(number))]
    reached = {number: graph.reached(number) for number in anchors}
    dispatches = _dispatches(graph)
    roots: dict[int, set[int]] = {number: set() for number in anchors}
    for one, other in combinations(anchors, 2):
        if other in reached[one] or one in reached[other]:
            continue
        first, second = list(graph.dominating(one))[::-1], list(graph.dominating(other))[::-1]
        shared = sum(1 for a, b in zip(first, second, strict=False) if a == b)
        if first[shared - 1] in dispatches and shared < min(len(first), len(second)):
            roots[one].add(first[shared])
            roots[other].add(second[shared])
    depth = {root: len(list(graph.dominating(root))) for found in roots.values() for root in found}
    chosen = sorted({max(found, key=depth.__getitem__) for found in roots.values() if found})
    return {root: frozenset(each for each in graph.order if root in graph.dominating(each)) for root in chosen}


def _dispatches(graph: Graph) -> set[int]:
    """The blocks in no loop that end with a branch on the number of the thread."""
    looped = {number for loop in graph.loops for number in loop.blocks}
    known: set[str] = set()
    found = set()
    for number in range(len(graph.starts)):
        for instruction in graph.block(number):
            words = _REGISTER.findall(instruction.text())
            depends = bool(_THREAD.search(instruction.operands)) or not known.isdisjoint(words)
            if depends and _jumps(instruction) and number not in looped:
                found.add(number)
            # What memory returns depends on the thread too, but it selects no role.
            elif depends and not instruction.opcode.startswith(("LD", "UTMA", "SYNCS", "ATOM")):
                known.update(_results(instruction))
    return found


def _results(instruction: Instruction) -> list[str]:
    """The first operand, and the predicates that follow it."""
    operands = re.split(r"[,\[ ]", instruction.operands)
    results = operands[:1]
    for operand in operands[1:2]:
        results += [operand] if _PREDICATE.match(operand) else []
    return [result for result in results if _REGISTER.fullmatch(result)]


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
