"""A `ptx.entry` as plain Python objects: blocks, instructions and branches over numbered values.

The later steps work on integers, because each call to the bindings costs a microsecond.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from tilec.dialect.cache import integers_of, texts_of
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import LABELS, UNIFORM
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.ptx.template import format_string
from tilec.dialect.tile_gpu.registers import MAXIMUM_REGISTERS, REGISTER_FILE, registers_per_thread
from tilec.errors import CompileError
from tilec.lowering.target import LANES

_LOGIC = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
# PTX has no selp for predicates.
_SELECT_PREDICATE = (
    "{ .reg .pred %yes, %no; and.pred %yes, $1, $2; not.pred %no, $1; and.pred %no, %no, $3; or.pred $0, %yes, %no; }"
)
_INTEGERS = {1: "i1", 16: "i16", 32: "i32", 64: "i64", 128: "i128"}
_PURE = "ptx.compute"
_FLOATS = {ir.F32Type: "f32", ir.F64Type: "f64"}


@dataclass(slots=True)
class Instruction:
    """`template` takes the registers of results, then operands; `tied` is as in the dialect, or empty.

    `operation` is that of the dialect; None for an operation of another one, which computes.
    """

    template: str
    results: list[int]
    operands: list[int]
    tied: tuple[int, ...]
    location: ir.Location
    operation: ir.Operation | None = None

    @property
    def is_pure(self) -> bool:
        """Whether the instruction has no effect but its results."""
        return self.operation is None or self.operation.name.startswith(_PURE)


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
    instructions: list[Instruction] = field(init=False)
    end: Branch = field(init=False)


@dataclass
class Program:
    """The body of an entry; value v has register class `classes[v]`, a key of REGISTER_CLASSES.

    `registers` are those of a thread at launch.
    """

    blocks: list[Block]
    classes: list[str]
    registers: int = MAXIMUM_REGISTERS


class _Reader:
    def __init__(self, entry: ir.Operation) -> None:
        self.registers = _registers(entry.attributes)
        self.classes: list[str] = []
        self.numbers: dict[ir.Value, int] = {}
        self.region_blocks = list(entry.regions[0].blocks)
        self.block_numbers = {block: number for number, block in enumerate(self.region_blocks)}

    def read(self) -> Program:
        # Blocks may precede their dominators, so all values are numbered first.
        # Not operations_in(), which keeps what only this reads.
        listed = [[op.operation for op in block.operations] for block in self.region_blocks]
        blocks = [Block(self.define(block.arguments)) for block in self.region_blocks]
        results = [[self.define(operation.results) for operation in operations] for operations in listed]
        for block, operations, defined in zip(blocks, listed, results, strict=True):
            instructions = zip(operations[:-1], defined, strict=False)
            block.instructions = [self.instruction(operation, values) for operation, values in instructions]
            block.end = self.branch(operations[-1])
        return Program(blocks, self.classes, self.registers)

    def define(self, values: Iterable[ir.Value]) -> list[int]:
        numbers, classes = self.numbers, self.classes
        made = []
        for value in values:
            number = numbers[value] = len(classes)
            classes.append(_class_name(value.type))
            made.append(number)
        return made

    def instruction(self, operation: ir.Operation, results: list[int]) -> Instruction:
        numbers, attributes = self.numbers, operation.attributes
        operands = [numbers[operand] for operand in operation.operands]
        try:
            template = format_string(attributes["text"].value)
        except KeyError:
            return Instruction(_upstream(operation), results, operands, (), operation.location)
        tied = integers_of(attributes["tied"]) if results and "tied" in attributes else ()
        return Instruction(template, results, operands, tied, operation.location, operation)

    def branch(self, operation: ir.Operation) -> Branch:
        operands = [self.numbers[operand] for operand in operation.operands]
        targets = list(operation.successors)
        condition = operands.pop(0) if len(targets) == 2 else None
        first = len(targets[0].arguments) if targets else 0
        arguments = [operands[:first], operands[first:]][: len(targets)]
        attributes = operation.attributes
        labels = list(texts_of(attributes[LABELS])) if LABELS in attributes else []
        return Branch(
            condition,
            [self.block_numbers[target] for target in targets],
            arguments,
            labels,
            UNIFORM in attributes,
            operation.location,
        )


def _registers(attributes: ir.OpAttributeMap) -> int:
    if "maxnreg" in attributes:
        return attributes["maxnreg"].value
    blocks = attributes["min_ctas"].value if "min_ctas" in attributes else 1
    return registers_per_thread(-(-math.prod(attributes["threads"]) // LANES), REGISTER_FILE // blocks)


def _class_name(kind: ir.Type) -> str:
    # By Python class, because printing a type takes ten times as long, and isinstance() twice.
    name = _FLOATS.get(type(kind))
    if name is None and type(kind) is ir.IntegerType:
        name = _INTEGERS.get(kind.width)
    if name is None:
        raise CompileError(f"ptx has no register of type {kind}, expected {', '.join(REGISTER_CLASSES)}")
    return name


def _upstream(operation: ir.Operation) -> str:
    text = upstream_text(operation)
    if text is None:
        raise CompileError(
            f"'{operation.name}' has no PTX form in the ptx dialect", source_location(operation.location)
        )
    return format_string(text)


def read_program(entry: ir.Operation) -> Program:
    """The body of a verified `ptx.entry`; raises CompileError for an operation without PTX."""
    return _Reader(entry).read()


def upstream_text(operation: ir.Operation) -> str | None:
    """The instruction for an upstream operation, or None if it has none."""
    kind = str(operation.results[0].type) if len(operation.results) == 1 else ""
    row = REGISTER_CLASSES.get(kind)
    if row is None:
        return None
    if operation.name == "arith.constant":
        return f"{row.move} $0, {_literal(operation.attributes['value'], kind)};"
    if operation.name in _LOGIC:
        return f"{_LOGIC[operation.name]}.{'pred' if kind == 'i1' else f'b{row.width}'} $0, $1, $2;"
    if operation.name == "arith.select":
        return _SELECT_PREDICATE if kind == "i1" else f"selp.{row.suffix} $0, $2, $3, $1;"
    if operation.name == "arith.extui" and str(operation.operands[0].type) == "i1":
        return f"selp.b{row.width} $0, 1, 0, $1;"
    return None


def _literal(value: ir.Attribute, kind: str) -> str:
    if kind == "f32":
        return f"0f{struct.unpack('<I', struct.pack('<f', value.value))[0]:08X}"
    if kind == "f64":
        return f"0d{struct.unpack('<Q', struct.pack('<d', value.value))[0]:016X}"
    return str(int(value.value))
