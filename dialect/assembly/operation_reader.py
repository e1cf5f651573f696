"""Reads operations by the elements of their assembly format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attributes import read_integer, read_keyed_dictionary, read_optional_dictionary
from tilec.dialect.assembly.directives import READERS
from tilec.dialect.assembly.field_reader import read_field
from tilec.dialect.assembly.generic_reader import GenericReader
from tilec.dialect.assembly.operation_parts import OperationMaker, Parts
from tilec.dialect.assembly.operation_suggestions import unknown_operation
from tilec.dialect.assembly.syntax import SYNTAX
from tilec.dialect.assembly.template import (
    AttributeDictionary,
    AttributeElement,
    Group,
    Literal,
    OperandElement,
    TypeElement,
    compile_template,
)
from tilec.dialect.assembly.tokens.lexer import END, is_name
from tilec.dialect.fields import ONE, OPTIONAL, AttributeKind, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader
    from tilec.dialect.assembly.template import Template


def _rank(parts: Parts) -> int:
    (source,) = parts.operands["src"]
    return getattr(source.type, "rank", 1)


class OperationReader:
    """Reads operations into a block, and binds the names of their results."""

    # The starts of the tokens that end a block, and the operations that do.
    ends: tuple[str, ...] = ("}",)
    terminators = frozenset(f"cuda_tile.{name}" for name in ("return", "yield", "continue", "break"))

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.tokens = reader.tokens
        self.scope = reader.scope
        self.maker = OperationMaker(reader.tokens, reader.scope)
        self.generic = GenericReader(reader)

    def read_all(self, point: ir.InsertionPoint, terminator: str = "") -> None:
        """Reads operations up to the end of the block; a missing terminator is added under the given name."""
        tokens, last = self.tokens, ""
        while not (token := tokens.tokens[tokens.at]).startswith(self.ends):
            if token == END:
                tokens.fail("expected '}', but got the end of the text")
            if last in self.terminators:
                tokens.fail(f"expected '}}' after '{last}', which ends its block")
            last = self.read(point)
        if terminator and last not in self.terminators:
            added = self._terminator(terminator, tokens.offset(), point)
            self.reader.locations.follow(lambda location: setattr(added, "location", location))

    def _terminator(self, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
        return self.maker.create(Parts(name, offset, 0), point)

    def read(self, point: ir.InsertionPoint) -> str:
        """Reads one operation and returns its full name."""
        tokens, begun = self.tokens, self.reader.locations.begin()
        names = self._result_names() if tokens.tokens[tokens.at][0] == "%" else []
        token, offset = tokens.tokens[tokens.at], tokens.offsets[tokens.at]
        operation = self._operation(token, offset, sum([count for _, count, _ in names]), point)
        self.reader.locations.suffix(operation, begun)
        self._bind(names, operation, offset)
        return operation.name

    def _operation(self, token: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
        """Reads the operation that begins with a token; `count` results have names."""
        if token[:1] == '"':
            return self.generic.operation(point)
        name = self.reader.full_name(token)
        self.tokens.at += 1
        if name not in OPERATIONS or not name.startswith(("cuda_tile.", "tilex.")):
            self.tokens.fail_at(offset, unknown_operation(token))
        syntax = SYNTAX.get(name)
        if syntax is None:
            return self._by_template(name, offset, count, point)
        return syntax.read(self.reader, name, offset, point)

    def _result_names(self) -> list[tuple[str, int, int]]:
        tokens, found = self.tokens, []
        while True:
            offset, name, count = tokens.offset(), tokens.next(), 1
            if tokens.take(":"):
                count = read_integer(tokens)
            found.append((name, count, offset))
            if not tokens.take(","):
                break
        tokens.expect("=")
        return found

    def _bind(self, names: list[tuple[str, int, int]], operation: ir.Operation, offset: int) -> None:
        results = list(operation.results)
        bound = sum([count for _, count, _ in names])
        if names and bound != len(results):
            self.tokens.fail_at(
                names[0][2], f"operation defines {len(results)} results but was provided {bound} to bind"
            )
        at = 0
        for name, count, position in names:
            self.scope.define(name, results[at : at + count], position)
            at += count

    def _by_template(self, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
        parts = Parts(name, offset, count)
        self.read_elements(compile_template(OPERATIONS[name]), parts)  # type: ignore[arg-type]
        return self.maker.create(parts, point)

    def read_elements(self, elements: Template, parts: Parts) -> None:
        tokens = self.tokens
        for element in elements:
            kind = type(element)
            if kind is Literal:
                for expected in element.tokens:
                    if tokens.tokens[tokens.at] != expected:
                        tokens.expect(expected)
                    tokens.at += 1
            elif kind is OperandElement:
                self._operand(element.field, parts)
            elif kind is TypeElement:
                self._type(element.field, parts)
            elif kind is AttributeElement:
                read_field(tokens, element.field, parts)
            elif kind is Group:
                if self._enters(element):
                    self.read_elements(element.elements, parts)
            elif kind is AttributeDictionary:
                self._dictionary(element.keyed, parts)
            else:
                READERS[element.name](self, element.argument, parts)

    def _enters(self, group: Group) -> bool:
        token, first = self.tokens.peek(), group.elements[0]
        if type(first) is Literal and not first.tokens:
            first = group.elements[1]
        if type(first) is Literal:
            return token == first.tokens[0] and (len(first.tokens) < 2 or self.tokens.peek(1) == first.tokens[1])
        if type(first) is OperandElement:
            return token[:1] == "%"
        if first.field.kind is AttributeKind.FLAG:
            return token == first.field.name
        return is_name(token) and (token in first.field.keywords or first.field.name == "memory_scope")

    def _operand(self, field: ValueField, parts: Parts) -> None:
        tokens = self.tokens
        parts.positions[field.name] = tokens.at
        if field.arity in (ONE, OPTIONAL):
            parts.operands[field.name] = [self.scope.use()]
        elif tokens.tokens[tokens.at][:1] == "%":
            parts.operands[field.name] = self.tokens.separated(self.scope.use)
        else:
            parts.operands[field.name] = []

    def _type(self, field: ValueField, parts: Parts) -> None:
        found = [self.tokens.type()]
        many = field.arity not in (ONE, OPTIONAL)
        if many and field.kind == "operand":
            while len(found) < len(parts.operands[field.name]):
                self.tokens.expect(",")
                found.append(self.tokens.type())
        if many and field.kind == "result":
            # One type for all results, whose number is that of the names, otherwise the rank of the view.
            found *= parts.count or _rank(parts)
        parts.types[field.name] = found
        if field.kind == "operand":
            self.maker.check_operands(field, found, parts)

    def _dictionary(self, keyed: bool, parts: Parts) -> None:
        read = read_keyed_dictionary if keyed else read_optional_dictionary
        parts.attributes.update(read(self.tokens))
