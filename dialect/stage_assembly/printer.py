"""Prints a module of tile_gpu or ptx as assembly, which the reader reads back to the same module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.dialect.assembly.attributes.attribute_printer import spell_symbol
from tilec.dialect.assembly.attributes.location_printer import LocationNames, shown_locations
from tilec.dialect.assembly.printer import Facts, Printer
from tilec.dialect.assembly.template import compile_template
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.stage_assembly.aliases import TypeAliases
from tilec.dialect.stage_assembly.attributes import NoAssembly, spell_stage_dictionary
from tilec.dialect.stage_assembly.lines import broken
from tilec.dialect.stage_assembly.names import StageNames
from tilec.dialect.stage_assembly.structure_printers import word_of
from tilec.dialect.stage_assembly.syntax import SYNTAX
from tilec.dialect.stage_assembly.upstream_printer import print_upstream

_OURS = ("tile_gpu.", "ptx.")


def print_stage(module: ir.Module, locations: bool = False) -> str:
    """Prints a module of tile_gpu or ptx; MLIR prints modules with operations that have no assembly.

    `locations` adds where each operation came from.
    """
    with module.context:
        try:
            return StagePrinter(module, locations).text(module)
        except NoAssembly:
            text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
            return text if text.endswith("\n") else f"{text}\n"


class StagePrinter(Printer):
    """Lines of a text of tile_gpu or ptx."""

    names: StageNames  # type: ignore[assignment]

    def __init__(self, module: ir.Module, locations: bool) -> None:
        super().__init__(locations)
        self._aliases = TypeAliases(module)
        if locations:
            self._locations = LocationNames(shown_locations(module))

    def text(self, module: ir.Module) -> str:
        attributes = {key: module.operation.attributes[key] for key in module.operation.attributes}
        name = attributes.pop("sym_name", None)
        parts = ["module", *([spell_symbol(name.value)] if name is not None else [])]
        parts += [f"attributes {spell_stage_dictionary(attributes)}"] if attributes else []
        self.lines += [*self._aliases.lines(), " ".join([*parts, "{"])]
        self.indent = "  "
        for op in module.body.operations:
            self.names = StageNames(op.operation)
            self.operation(op)
        self.indent = ""
        self.lines.append("}" + self.module_location(module.operation.location))
        self.lines += [] if self._locations is None else self._locations.lines()
        return "\n".join(short for line in self.lines for short in broken(line)) + "\n"

    def operation(self, op: ir.OpView) -> None:
        name = op.operation.name
        syntax = SYNTAX.get(word_of(name))
        if syntax is not None:
            syntax.print(self, op)
        elif not name.startswith(_OURS):
            print_upstream(self, op)
        elif name in OPERATIONS and (op.assembly or not op.fields):
            text = self._elements(op, compile_template(op.__class__), Facts(op))
            self.line(op, (f"{name} {text}" if text[:1].strip() else f"{name}{text}").rstrip())
        else:
            raise NoAssembly(name)

    def type(self, type: ir.Type) -> str:
        return self._aliases.spell(type)

    def fields(self, op: ir.OpView, attributes: Mapping[str, ir.Attribute]) -> str:
        return spell_stage_dictionary(attributes)

    def types(self, values: Sequence[ir.Value]) -> str:
        """The types of values, separated by commas."""
        return ", ".join(self.type(value.type) for value in values)

    def arguments(self, block: ir.Block, located: bool = False) -> str:
        """`%a: i32, %b: f32`."""
        spelled = []
        for argument in block.arguments:
            text = f"{self.names.of(argument)}: {self.type(argument.type)}"
            own = located and argument.location != block.owner.location
            spelled.append(text + (self.location(argument.location) if own else ""))
        return ", ".join(spelled)

    def opening(self, op: ir.Operation, text: str) -> None:
        """Prints the first line of an operation with regions, after the names of its results."""
        results = self.names.results(op)
        self.lines.append(f"{self.indent}{results}{' = ' if results else ''}{text} {{")

    def between(self, text: str) -> None:
        """Prints the line between two regions."""
        self.lines.append(f"{self.indent}}} {text} {{")

    def closing(self, op: ir.Operation, attributes: Mapping[str, ir.Attribute] | None = None) -> None:
        """Prints the last line of an operation with regions."""
        extra = f" {spell_stage_dictionary(attributes)}" if attributes else ""
        self.lines.append(f"{self.indent}}}{extra}{self.location(op.location)}")
