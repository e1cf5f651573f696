"""Reads one operation by the elements of its assembly line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilec.dialect.assembly.attributes import (
    read_attribute,
    read_dictionary,
    read_hints,
    read_integer,
    read_predicate,
    unescape,
)
from tilec.dialect.assembly.directives import READERS
from tilec.dialect.assembly.generic_reader import GenericReader
from tilec.dialect.assembly.keywords import keyword_problem
from tilec.dialect.assembly.lexer import END, is_name
from tilec.dialect.assembly.structure_reader import STRUCTURES
from tilec.dialect.assembly.template import (
    AttributeDictionary,
    AttributeElement,
    Group,
    Literal,
    OperandElement,
    TypeElement,
    compile_template,
)
from tilec.dialect.build import segment_attribute
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.fields import ONE, OPTIONAL, AttributeField, TypeVariable, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader

_TERMINATORS = frozenset(f"cuda_tile.{name}" for name in ("return", "yield", "continue", "break"))


class Parts:
    """What has been read of an operation."""

    __slots__ = ("attributes", "count", "name", "offset", "operands", "places", "types")

    def __init__(self, name: str, offset: int, count: int) -> None:
        self.name, self.offset, self.count = name, offset, count
        self.operands: dict[str, list[ir.Value]] = {}
        self.places: dict[str, int] = {}
        self.types: dict[str, list[ir.Type]] = {}
        self.attributes: dict[str, ir.Attribute] = {}


def _rank(parts: Parts) -> int:
    (source,) = parts.operands["src"]
    return getattr(source.type, "rank", 1)


class OperationReader:
    """Reads operations into a block, and binds the names of their results."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.tokens = reader.tokens
        self.scope = reader.scope
        self.generic = GenericReader(reader)

    def read_all(self, point: ir.InsertionPoint, terminator: str) -> None:
        """Operations up to the closing bracket; where the text has no terminator, one of the given name is added."""
        tokens = self.tokens
        last = ""
        while (token := tokens.tokens[tokens.at]) != "}":
            if token == END:
                tokens.fail("expected '}', but got the end of the text")
            if last in _TERMINATORS:
                tokens.fail(f"expected '}}' after '{last}', which ends its block")
            last = self.read(point)
        if last not in _TERMINATORS:
            self.create(Parts(terminator, tokens.offset(), 0), point)

    def read(self, point: ir.InsertionPoint) -> str:
        """One operation; its full name."""
        tokens = self.tokens
        names = self._result_names() if tokens.tokens[tokens.at][0] == "%" else []
        token, offset = tokens.tokens[tokens.at], tokens.offsets[tokens.at]
        if token[:1] == '"':
            operation = self.generic.operation(point)
        else:
            name = self.reader.full_name(token)
            tokens.at += 1
            if name not in OPERATIONS:
                tokens.fail_at(
                    offset,
                    f"unknown operation: {token}" if is_name(token) else f"expected an operation, but got '{token}'",
                )
            count = sum(count for _, count, _ in names)
            structure = STRUCTURES.get(name)
            operation = (
                structure(self.reader, offset, count, point)
                if structure
                else self._by_template(name, offset, count, point)
            )
        self.reader.locations.suffix(operation)
        self._bind(names, operation, offset)
        return operation.name

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
        bound = sum(count for _, count, _ in names)
        if names and bound != len(results):
            self.tokens.fail_at(
                names[0][2], f"operation defines {len(results)} results but was provided {bound} to bind"
            )
        at = 0
        for name, count, place in names:
            self.scope.define(name, results[at : at + count], place)
            at += count

    def _by_template(self, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
        parts = Parts(name, offset, count)
        self.read_elements(compile_template(OPERATIONS[name]), parts)
        return self.create(parts, point)

    def read_elements(self, elements: tuple[Any, ...], parts: Parts) -> None:
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
                self._attribute(element.field, parts)
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
        if first.field.kind == "flag":
            return token == first.field.name
        return is_name(token) and (token in first.field.keywords or first.field.name == "memory_scope")

    def _operand(self, field: ValueField, parts: Parts) -> None:
        tokens = self.tokens
        parts.places[field.name] = tokens.at
        if field.arity in (ONE, OPTIONAL):
            parts.operands[field.name] = [self.scope.use()]
        elif tokens.tokens[tokens.at][:1] == "%":
            parts.operands[field.name] = self.reader.separated(self.scope.use)
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
            # One type stands for all results; their number is that of the names, else the rank of the view.
            found *= parts.count or _rank(parts)
        parts.types[field.name] = found
        if field.kind == "operand":
            self.check_operands(field, found, parts)

    def check_operands(self, field: ValueField, types: list[ir.Type], parts: Parts) -> None:
        """Operands must have the types that the text says."""
        operands = parts.operands.get(field.name, [])
        if len(operands) != len(types):
            self.tokens.fail(
                f"expected as many types as operands of '{field.name}' ({len(operands)}), but got {len(types)}"
            )
        for index, (value, expected) in enumerate(zip(operands, types, strict=True)):
            # Operands of a group are two tokens apart: a name and a comma.
            self.scope.check(parts.places[field.name] + 2 * index, value, expected)

    def _dictionary(self, keyed: bool, parts: Parts) -> None:
        if keyed and not self.tokens.take("attributes"):
            return
        if keyed or self.tokens.peek() == "{":
            parts.attributes.update(read_dictionary(self.tokens))

    def _attribute(self, field: AttributeField, parts: Parts) -> None:
        tokens, kind = self.tokens, field.kind
        if kind == "flag":
            tokens.expect(field.name)
            parts.attributes[field.name] = ir.UnitAttr.get()
        elif kind == "keyword":
            word = tokens.peek()
            if word not in field.keywords:
                tokens.fail(keyword_problem(field, word))
            tokens.at += 1
            parts.attributes[field.name] = field.to_attribute(word)
            self._check_weak(field, parts)
        elif kind in ("i32", "i64"):
            parts.attributes[field.name] = field.to_attribute(read_integer(tokens))
        elif kind == "string":
            if tokens.peek()[:1] != '"':
                tokens.fail(f"expected a string, but got '{tokens.peek()}'")
            parts.attributes[field.name] = ir.StringAttr.get(unescape(tokens.next()))
        elif kind == "symbol":
            parts.attributes[field.name] = ir.StringAttr.get(tokens.symbol())
        elif kind == "predicate":
            parts.attributes[field.name] = read_predicate(tokens)
        elif kind == "a dictionary":
            parts.attributes[field.name] = read_hints(tokens)
        elif kind == "an array of 32-bit integers":
            parts.attributes[field.name] = field.to_attribute(self._until_bracket(lambda: read_integer(tokens)))
        elif kind == "an array of booleans":
            parts.attributes[field.name] = field.to_attribute(self._until_bracket(self._boolean))
        else:
            parts.attributes[field.name] = read_attribute(tokens)

    def _check_weak(self, field: AttributeField, parts: Parts) -> None:
        if field.name == "memory_scope":
            ordering = parts.attributes.get("memory_ordering_semantics")
            if ordering is not None and ordering.value == "weak" and "view" in parts.name:
                scope = parts.attributes["memory_scope"].value
                self.tokens.fail(
                    "operation specifies weak memory ordering semantics, "
                    f'but then provides "{scope}" scope, expected no memory scope.'
                )

    def _until_bracket(self, read: Any) -> list[Any]:
        return [] if self.tokens.peek() == "]" else self.reader.separated(read)

    def _boolean(self) -> bool:
        if self.tokens.peek() not in ("true", "false"):
            self.tokens.fail(f"expected true or false, but got '{self.tokens.peek()}'")
        return self.tokens.next() == "true"

    def create(self, parts: Parts, point: ir.InsertionPoint) -> ir.Operation:
        """The operation, with result types inferred from the types that were read."""
        cls = OPERATIONS[parts.name]
        operands: list[ir.Value] = []
        sizes: list[int] = []
        for field in cls.operand_fields:
            group = parts.operands.get(field.name, [])
            operands += group
            sizes.append(len(group))
        results: list[ir.Type] = []
        result_sizes: list[int] = []
        for field in cls.result_fields:
            types = parts.types.get(field.name) or self._inferred(cls, field, parts)
            results += types
            result_sizes.append(len(types))
        self._check_variables(cls, parts, results)
        attributes = self._with_defaults(cls, parts.attributes)
        for kind, fields, counted in (
            ("operand", cls.operand_fields, sizes),
            ("result", cls.result_fields, result_sizes),
        ):
            if any(field.arity != ONE for field in fields):
                attributes[f"{kind}SegmentSizes"] = self._segments(fields, counted, parts)
        location = self.reader.source.location(parts.offset)
        return ir.Operation.create(
            parts.name, results, operands, attributes, regions=len(cls.region_fields), loc=location, ip=point
        )

    def _segments(self, fields: tuple[ValueField, ...], sizes: list[int], parts: Parts) -> ir.Attribute:
        try:
            return segment_attribute(fields, tuple(sizes), parts.name)
        except ValueError as error:
            self.tokens.fail_at(parts.offset, str(error))

    def _with_defaults(self, cls: Any, given: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
        for name, field in cls.attribute_fields.items():
            if field.default is not None and name not in given:
                given[name] = field.to_attribute(field.default)
        return given

    def _inferred(self, cls: Any, field: ValueField, parts: Parts) -> list[ir.Type]:
        if field.arity not in (ONE, OPTIONAL):
            return []
        if field.set.name == "Token":
            return [TokenType.get()]
        if isinstance(field.constraint, TypeVariable):
            for other in cls.fields:
                if isinstance(other, ValueField) and other.constraint == field.constraint:
                    known = parts.types.get(other.name) or [v.type for v in parts.operands.get(other.name, [])]
                    if known:
                        return [known[0]]
        # Several results of one kind are written with one type: x, y and z of get_tile_block_id.
        for other in cls.result_fields:
            if other.constraint == field.constraint and other.name in parts.types:
                return [parts.types[other.name][0]]
        self.tokens.fail_at(parts.offset, f"expected a type for '{field.name}'")

    def _check_variables(self, cls: Any, parts: Parts, results: list[ir.Type]) -> None:
        # An operand whose type the text leaves out must have the type of the result it shares a variable with.
        for result, type in zip(cls.result_fields, results, strict=False):
            if isinstance(result.constraint, TypeVariable):
                for field in cls.operand_fields:
                    if field.constraint is result.constraint and field.name not in parts.types and field.arity == ONE:
                        self.check_operands(field, [type], parts)
