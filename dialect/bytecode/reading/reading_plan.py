"""How to read the operations of one class, computed once per file."""

from __future__ import annotations

from tilec.dialect.build import segment_attribute
from tilec.dialect.bytecode.layout import OperationLayout
from tilec.dialect.bytecode.reading.attribute_reader import AttributeReader, Read
from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.fields import MIXED, ONE, OPTIONAL, AttributeField, AttributeKind, ValueField
from tilec.dialect.mlir import ir

# How a group of operands is stored: one value, a count and values, or a bit of the flags (its value) and one value.
SINGLE, MANY = 0, -1


class Segments:
    """The segment attributes for groups of operands or results, each created once."""

    def __init__(self, fields: tuple[ValueField, ...], name: str) -> None:
        self._fields, self._name = fields, name
        self._mixed = any(field.arity == MIXED for field in fields)
        self._made: dict[tuple[object, ...], ir.Attribute] = {}

    def of(self, sizes: list[int], types: list[ir.Type]) -> ir.Attribute:
        """The attribute for group sizes; raises ValueError if a mixed group has too many runs of types."""
        key = (*sizes, *types) if self._mixed else tuple(sizes)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._make(sizes, types)
        return found

    def _make(self, sizes: list[int], types: list[ir.Type]) -> ir.Attribute:
        lengths, at = [], 0
        for field, size in zip(self._fields, sizes, strict=True):
            lengths.append(field.lengths(types[at : at + size]))
            at += size
        return segment_attribute(self._fields, tuple(lengths), self._name)


class ReadingPlan:
    """The members of an operation in file order, each with its reader.

    `attributes` are names with the bit among the flags that says that they are there (0: always) and a reader (None:
    elements of the type of the result). `groups` says for each operand field how it is stored.
    """

    def __init__(self, layout: OperationLayout, reader: AttributeReader) -> None:
        operation = layout.operation_class
        bits = {member.name: 1 << bit for bit, member in enumerate(layout.flags)}
        self.layout = layout
        self.name: str = operation.OPERATION_NAME
        self.spelled: str = operation.spelled_name.removeprefix("cuda_tile.")
        self.fixed_results = sum(field.arity == ONE for field in layout.results)
        self.variadic_results = self.fixed_results < len(layout.results)
        # Results that the version lacks are tokens, which nothing in the file can use.
        self.younger_results = [TokenType.get() for field in operation.result_fields if field not in layout.results]
        self.result_segments = _segments(operation.result_fields, self.name)
        self.flags = bool(layout.flags)
        self.attributes = [
            (field.name, bits.get(field.name, 0), self._reader(field, reader)) for field in layout.attributes
        ]
        self.units = [(field.name, bits[field.name]) for field in layout.flags if field.kind is AttributeKind.FLAG]
        self.defaults = _defaults(layout)
        # The length of an optional array of booleans that were all false.
        self.all_false: int | None = None
        self.index = next((at for at, field in enumerate(operation.operand_fields) if field.name == "index"), None)
        self.fixed_operands = sum(field.arity == ONE for field in layout.operands)
        self.groups = [_stored(field, bits) for field in layout.operands]
        self.operand_segments = _segments(operation.operand_fields, self.name)
        self.regions = layout.regions
        self.ends_block = ir.IsTerminatorTrait in operation._traits

    def _reader(self, field: AttributeField, reader: AttributeReader) -> Read | None:
        if field.kind is AttributeKind.ELEMENTS:
            return None
        optional = field.kind is AttributeKind.BOOLEANS and not field.required
        return self._booleans if optional else reader.field(field)

    def _booleans(self, cursor: Cursor) -> ir.Attribute | None:
        found = cursor.take(cursor.count("booleans"))
        self.all_false = None if any(found) else len(found)
        return None if self.all_false is not None else ir.DenseBoolArrayAttr.get([byte != 0 for byte in found])

    def operand_sizes(self, total: int) -> list[int]:
        """The group sizes if only the total number of operands is stored: the variadic group has the rest."""
        return [1 if kind == SINGLE else total - self.fixed_operands for kind in self.groups]

    def result_sizes(self, total: int) -> list[int]:
        """The sizes of the groups of results."""
        fields = self.layout.operation_class.result_fields
        ones = sum(field.arity == ONE for field in fields)
        return [1 if field.arity == ONE else total - ones for field in fields]


def _segments(fields: tuple[ValueField, ...], name: str) -> Segments | None:
    return Segments(fields, name) if any(field.arity != ONE for field in fields) else None


def _defaults(layout: OperationLayout) -> dict[str, ir.Attribute]:
    """The default values of attributes that the version lacks."""
    fields = layout.operation_class.attribute_fields.values()
    known = {field.name for field in layout.attributes}
    younger = [field for field in fields if field.default is not None and field.name not in known]
    return {field.name: field.to_attribute(field.default) for field in younger}


def _stored(field: ValueField, bits: dict[str, int]) -> int:
    if field.arity == OPTIONAL:
        # A group that the version lacks has no bit and is absent.
        return bits.get(field.name, 1 << 64)
    return SINGLE if field.arity == ONE else MANY
