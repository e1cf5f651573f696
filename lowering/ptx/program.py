"""A `ptx.entry` read once into plain Python: blocks, instructions and branches over numbered values.

Everything after works on integers, since each question to the bindings costs a microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import LABELS, UNIFORM
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.ptx.template import format_string
from tilec.lowering.ptx.place import error_place
from tilec.lowering.ptx.upstream import upstream_text
from tilec.errors import CompileError


@dataclass(slots=True)
class Instruction:
    """`template` takes the registers of results, then operands; `tied` as in the dialect, empty where nothing is."""

    template: str
    results: list[int]
    operands: list[int]
    tied: tuple[int, ...]
    location: ir.Location


@dataclass(slots=True)
class Branch:
    """The end of a block: no target is return, one is a jump, two are taken for a true and a false condition."""

    condition: int | None
    targets: list[int]
    arguments: list[list[int]]
    labels: list[str]
    uniform: bool
    location: ir.Location


@dataclass(slots=True)
class Block:
    arguments: list[int]
    instructions: list[Instruction] = field(default_factory=list)
    end: Branch = field(init=False)


@dataclass
class Program:
    """The body of an entry; value v has register class `classes[v]`, a key of REGISTER_CLASSES."""

    blocks: list[Block]
    classes: list[str]


class _Reader:
    def __init__(self, entry: ir.Operation) -> None:
        self.classes: list[str] = []
        self.numbers: dict[ir.Value, int] = {}
        self.class_of: dict[ir.Type, str] = {}
        self.region_blocks = list(entry.regions[0].blocks)
        self.block_numbers = {block: number for number, block in enumerate(self.region_blocks)}

    def define(self, value: ir.Value) -> int:
        kind = value.type
        name = self.class_of.get(kind)
        if name is None:
            name = self.class_of[kind] = str(kind)
            if name not in REGISTER_CLASSES:
                raise CompileError(f"ptx has no register of type {name}, expected {', '.join(REGISTER_CLASSES)}")
        number = self.numbers[value] = len(self.classes)
        self.classes.append(name)
        return number

    def read(self) -> Program:
        # Blocks need not stand in an order of dominance, so all values get their numbers first.
        listed = [(block, list(block.operations)) for block in self.region_blocks]
        blocks = []
        defined: list[list[list[int]]] = []
        for block, operations in listed:
            blocks.append(Block([self.define(argument) for argument in block.arguments]))
            defined.append([[self.define(result) for result in operation.results] for operation in operations])
        for made, results, (_, operations) in zip(blocks, defined, listed, strict=True):
            for result, operation in zip(results, operations, strict=True):
                self.add(made, result, operation.operation)
        return Program(blocks, self.classes)

    def add(self, block: Block, results: list[int], operation: ir.Operation) -> None:
        numbers, name = self.numbers, operation.name
        operands = [numbers[operand] for operand in operation.operands]
        if name.startswith("ptx.") and name != "ptx.return":
            attributes = operation.attributes
            tied = tuple(attributes["tied"]) if "tied" in attributes else ()
            template = format_string(attributes["text"].value)
            block.instructions.append(Instruction(template, results, operands, tied, operation.location))
        elif name in ("cf.br", "cf.cond_br", "ptx.return"):
            block.end = self.branch(operation, operands)
        else:
            template = format_string(self.upstream(operation))
            block.instructions.append(Instruction(template, results, operands, (), operation.location))

    def upstream(self, operation: ir.Operation) -> str:
        text = upstream_text(operation)
        if text is None:
            raise CompileError(f"'{operation.name}' has no PTX at this level", error_place(operation.location))
        return text

    def branch(self, operation: ir.Operation, operands: list[int]) -> Branch:
        targets = list(operation.successors)
        condition = operands.pop(0) if len(targets) == 2 else None
        first = len(targets[0].arguments) if targets else 0
        arguments = [operands[:first], operands[first:]][: len(targets)]
        attributes = operation.attributes
        labels = [label.value for label in attributes[LABELS]] if LABELS in attributes else []
        return Branch(
            condition,
            [self.block_numbers[target] for target in targets],
            arguments,
            labels,
            UNIFORM in attributes,
            operation.location,
        )


def read_program(entry: ir.Operation) -> Program:
    """The body of a verified `ptx.entry`; CompileError names an operation that has no PTX."""
    return _Reader(entry).read()
