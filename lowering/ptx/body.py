"""The body of a kernel as text: instructions, moves on control-flow edges, and labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.lowering.ptx.coalesce import coalesce
from tilec.lowering.ptx.constants import repeat_constants
from tilec.lowering.ptx.flow import Flow, Liveness, control_flow, liveness
from tilec.lowering.ptx.order import order_instructions
from tilec.lowering.ptx.program import Branch, Instruction, Program


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


# Destination, source and their register class.
Move = tuple[str, str, str]


@dataclass
class Body:
    """`lines` are (text, location); a label has no location. `declarations` are the .reg lines."""

    lines: list[tuple[str, ir.Location | None]]
    declarations: list[str]


def write_body(program: Program) -> Body:
    """The body with registers assigned to values."""
    repeat_constants(program)
    flow = control_flow(program)
    live = liveness(program, flow)
    if order_instructions(program, flow, live):
        live = liveness(program, flow)
    registers = Registers(program, flow, coalesce(program, flow, live))
    writer = _Writer(program, flow, live, registers)
    written = [number for number in flow.order if writer.leads_to[number] == number]
    for number, following in zip(written, [*written[1:], None], strict=True):
        writer.block(number, following)
    return Body(writer.finished(), registers.declarations())


class _Writer:
    def __init__(self, program: Program, flow: Flow, live: Liveness, registers: Registers) -> None:
        self.program, self.flow, self.live, self.registers = program, flow, live, registers
        self.labels = block_labels(program, flow)
        self.targets: set[str] = set()
        self.lines: list[tuple[str, ir.Location | None]] = []
        self.edges = 0
        self.leads_to = [self.destination(number) for number in range(len(program.blocks))]

    def destination(self, number: int) -> int:
        """The final target of a branch to a block: blocks that only branch are skipped."""
        seen = set()
        while number not in seen and number != 0:
            seen.add(number)
            block = self.program.blocks[number]
            only_branches = not block.instructions and len(block.end.targets) == 1 and not self.moves(block.end, 0)
            if not only_branches:
                break
            number = block.end.targets[0]
        return number

    def finished(self) -> list[tuple[str, ir.Location | None]]:
        """All lines except labels without a branch to them."""
        return [line for line in self.lines if line[1] is not None or line[0][:-1] in self.targets]

    def block(self, number: int, following: int | None) -> None:
        block, lines = self.program.blocks[number], self.lines
        name = self.registers.names.__getitem__
        lines.append((f"{self.labels[number]}:", None))
        for instruction in block.instructions:
            if instruction.tied:
                self.move_tied(instruction)
            registers = (*map(name, instruction.results), *map(name, instruction.operands))
            lines.append((instruction.template.format(*registers), instruction.location))
        self.end(block.end, following)

    def move_tied(self, instruction: Instruction) -> None:
        """Copies a tied operand that stays live into the separate register of the result."""
        names = self.registers.names
        for result, tie in zip(instruction.results, instruction.tied, strict=True):
            if tie >= 0:
                self.move(names[result], names[instruction.operands[tie]], self.kind(result), instruction.location)

    def kind(self, value: int) -> str:
        return self.program.classes[value]

    def move(self, destination: str, source: str, kind: str, location: ir.Location) -> None:
        if destination != source:
            self.lines.append((f"{REGISTER_CLASSES[kind].move} {destination}, {source};", location))

    def end(self, end: Branch, following: int | None) -> None:
        if not end.targets:
            self.lines.append(("ret;", end.location))
        elif end.condition is None:
            self.copy(self.moves(end, 0), end.location)
            self.jump(self.leads_to[end.targets[0]], following, end.location)
        else:
            self.conditional(end, self.registers.names[end.condition], following)

    def conditional(self, end: Branch, condition: str, following: int | None) -> None:
        then, otherwise = (self.leads_to[target] for target in end.targets)
        then_moves, otherwise_moves, location = self.moves(end, 0), self.moves(end, 1), end.location
        shared = _shared_moves(then_moves, otherwise_moves, condition)
        self.copy(shared, location)
        then_moves, otherwise_moves = _without(then_moves, shared), _without(otherwise_moves, shared)
        branch = "bra.uni" if end.uniform else "bra"
        if not then_moves and (otherwise_moves or then != following):
            self.branch(f"@{condition} {branch}", self.labels[then], location)
            self.copy(otherwise_moves, location)
            self.jump(otherwise, following, location)
        elif not otherwise_moves:
            self.branch(f"@!{condition} {branch}", self.labels[otherwise], location)
            self.copy(then_moves, location)
            self.jump(then, following, location)
        else:
            self.edges += 1
            label = f"$edge_{self.edges}"
            self.branch(f"@!{condition} {branch}", label, location)
            self.copy(then_moves, location)
            self.jump(then, None, location)
            self.lines.append((f"{label}:", None))
            self.copy(otherwise_moves, location)
            self.jump(otherwise, following, location)

    def jump(self, target: int, following: int | None, location: ir.Location) -> None:
        if target != following:
            self.branch("bra.uni", self.labels[target], location)

    def branch(self, head: str, label: str, location: ir.Location) -> None:
        self.targets.add(label)
        self.lines.append((f"{head} {label};", location))

    def moves(self, end: Branch, index: int) -> list[Move]:
        """The copies of an edge whose source and destination registers differ."""
        arguments = self.program.blocks[end.targets[index]].arguments
        pairs = zip(arguments, end.arguments[index], strict=True)
        names = self.registers.names
        wanted = [(names[a], names[value], self.kind(a)) for a, value in pairs if a in self.live.used]
        return [move for move in wanted if move[0] != move[1]]

    def copy(self, moves: list[Move], location: ir.Location) -> None:
        """Emits moves with the effect of a parallel copy."""
        kinds = {destination: kind for destination, _, kind in moves}

        def temporary(register: str) -> str:
            spare = self.registers.temporary(kinds[register])
            kinds[spare] = kinds[register]
            return spare

        for destination, source in sequentialize([move[:2] for move in moves], temporary):
            self.move(destination, source, kinds[destination], location)


def _shared_moves(then: list[Move], otherwise: list[Move], condition: str) -> list[Move]:
    """Moves common to both edges that may precede the branch: no later move reads a register that they overwrite."""
    both = set(then) & set(otherwise)
    shared = [move for move in then if move in both and move[0] != condition]
    while True:
        read = {source for _, source, _ in {*then, *otherwise}.difference(shared)}
        kept = [move for move in shared if move[0] not in read]
        if len(kept) == len(shared):
            return shared
        shared = kept


def _without(moves: list[Move], done: list[Move]) -> list[Move]:
    gone = set(done)
    return [move for move in moves if move not in gone]


def block_labels(program: Program, flow: Flow) -> list[str]:
    """A unique label for each block, such as `$loop_head` or `$block_3`."""
    requested = [""] * len(program.blocks)
    for number in flow.order:
        end = program.blocks[number].end
        for target, label in zip(end.targets, end.labels, strict=False):
            requested[target] = requested[target] or label
    taken: set[str] = set()
    names = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in requested]
    return [_unique(f"${name or _default_name(number, flow)}", taken) for number, name in enumerate(names)]


def _default_name(number: int, flow: Flow) -> str:
    return f"loop_{number}" if number in flow.heads else f"block_{number}"


def _unique(label: str, taken: set[str]) -> str:
    found, count = label, 1
    while found in taken:
        count += 1
        found = f"{label}_{count}"
    taken.add(found)
    return found


def sequentialize(copies: Iterable[tuple[str, str]], temporary: Callable[[str], str]) -> list[tuple[str, str]]:
    """Moves (destination, source) with the effect of all copies at once.

    Destinations are distinct. A cycle costs one extra move through `temporary(register)`, a free register of the same
    class; cycles are resolved one at a time, so one temporary register per class is enough.
    """
    pending = {destination: source for destination, source in copies if destination != source}
    readers = Counter(pending.values())
    free = [destination for destination in pending if not readers[destination]]
    moves = []
    while pending:
        if not free:
            # Only cycles are left: save the first destination in a temporary register.
            destination = next(iter(pending))
            reader = next(other for other, source in pending.items() if source == destination)
            saved = temporary(destination)
            moves.append((saved, destination))
            pending[reader] = saved
            free.append(destination)
        destination = free.pop()
        source = pending.pop(destination)
        moves.append((destination, source))
        readers[source] -= 1
        if source in pending and not readers[source]:
            free.append(source)
    return moves
