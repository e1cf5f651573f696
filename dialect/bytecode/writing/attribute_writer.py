"""Writes attributes of fields, whose kind is known, and self-contained attributes."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.bytecode.elements import float_bits
from tilec.dialect.bytecode.tags import KEYWORD_SINCE, AttributeTag
from tilec.dialect.bytecode.writing.constant_table import ConstantTable
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.bytecode.writing.string_table import StringTable
from tilec.dialect.bytecode.writing.type_table import TypeTable
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, FLOATS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.fields import AttributeField, AttributeKind
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

_INTEGERS = tuple(name for name in ELEMENT_BITS if name not in FLOATS)
# Floats up to this width are one byte, wider ones a varint.
_BYTE_BITS = 8


class AttributeWriter:
    """Writes attributes with the tables of one file."""

    def __init__(self, gate: VersionGate, strings: StringTable, types: TypeTable, constants: ConstantTable) -> None:
        self.gate = gate
        self.strings = strings
        self.types = types
        self.constants = constants

    def field(self, field: AttributeField, attribute: ir.Attribute, encoder: Encoder) -> None:
        """Writes the attribute of a field, without a tag."""
        if field.numbering:
            self._keyword(field, attribute.value, encoder)
        else:
            _FIELDS[field.kind](self, attribute, encoder)

    def tagged(self, attribute: ir.Attribute, encoder: Encoder) -> None:
        """Writes an attribute with its tag; raises InputError for a kind that the format does not have."""
        write = _TAGGED.get(attribute.__class__)
        if write is None:
            self.gate.refuse(f"attribute {attribute} has no form in bytecode: {_EXPECTED}")
        write(self, attribute, encoder)

    def dictionary(self, attribute: ir.DictAttr, encoder: Encoder) -> None:
        """Writes the number of entries, then the key and value of each."""
        encoder.varint(len(attribute))
        for entry in attribute:
            if not entry.name:
                self.gate.refuse(f"dictionary {attribute} has an empty key, which bytecode cannot hold")
            encoder.varint(self.strings.index(entry.name))
            self.tagged(entry.attr, encoder)

    def integers(self, values: list[int], width: int, encoder: Encoder) -> None:
        """Writes the number of elements, then each at its width in bits."""
        limit = 1 << (width - 1)
        refused = next((value for value in values if value in (-limit, limit - 1)), None)
        if refused is not None:
            self.gate.refuse(f"an array with the element {refused}, an extreme of i{width}, has no form in bytecode")
        encoder.array(values, "i" if width == 32 else "q")

    def _keyword(self, field: AttributeField, keyword: str, encoder: Encoder) -> None:
        since = KEYWORD_SINCE.get(keyword)
        if since is not None and self.gate.operation is not None:
            self.gate.need(f"'{keyword}' as {field.name} of '{self.gate.operation.name}'", since)
        encoder.varint(field.numbering.index(keyword))


_EXPECTED = (
    "expected an integer, float, boolean, type, string, array, dictionary, constant elements or a promise of assume"
)


def _string(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.varint(writer.strings.index(attribute.value_bytes))


def _type(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.varint(writer.types.index(attribute.value))


def _elements(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.varint(writer.constants.index(attribute))


def _array(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.varint(len(attribute))
    for each in attribute:
        writer.tagged(each, encoder)


def _integers32(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    writer.integers(list(attribute), 32, encoder)


def _booleans(_writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.varint(len(attribute))
    for each in attribute:
        encoder.byte(each)


def _boolean(_writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    encoder.byte(bool(attribute.value))


def _integer(width: int) -> Callable[[AttributeWriter, ir.Attribute, Encoder], None]:
    return lambda _writer, attribute, encoder: encoder.varint(attribute.value % (1 << width))


def _predicate(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    writer.tagged(attribute, encoder)


def _dictionary(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    writer.dictionary(attribute, encoder)


# By the kind of the field.
_FIELDS: dict[AttributeKind, Callable[[AttributeWriter, ir.Attribute, Encoder], None]] = {
    AttributeKind.STRING: _string,
    AttributeKind.SYMBOL: _string,
    AttributeKind.TYPE: _type,
    AttributeKind.ELEMENTS: _elements,
    AttributeKind.ARRAY: _array,
    AttributeKind.INTEGERS_32: _integers32,
    AttributeKind.BOOLEANS: _booleans,
    AttributeKind.BOOLEAN: _boolean,
    AttributeKind.DICTIONARY: _dictionary,
    AttributeKind.PREDICATE: _predicate,
    AttributeKind.INTEGER_32: _integer(32),
    AttributeKind.INTEGER_64: _integer(64),
}


def _after(
    tag: AttributeTag, write: Callable[[AttributeWriter, ir.Attribute, Encoder], None]
) -> Callable[[AttributeWriter, ir.Attribute, Encoder], None]:
    def tagged(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
        encoder.byte(tag)
        write(writer, attribute, encoder)

    return tagged


def _typed_integer(writer: AttributeWriter, attribute: ir.IntegerAttr, encoder: Encoder) -> None:
    _check_number(writer, attribute, _INTEGERS)
    encoder.varint(writer.types.index(attribute.type))
    encoder.varint(attribute.value % (1 << attribute.type.width))


def _typed_float(writer: AttributeWriter, attribute: ir.FloatAttr, encoder: Encoder) -> None:
    _check_number(writer, attribute, FLOATS)
    encoder.varint(writer.types.index(attribute.type))
    bits = float_bits(attribute)
    if attribute.type.width <= _BYTE_BITS:
        encoder.byte(bits)
    else:
        # Readers of the format use 64 bits, which a zigzag-encoded unsigned number of 64 bits exceeds.
        encoder.signed_varint(bits - (1 << 64) if bits >> 63 else bits)


def _check_number(writer: AttributeWriter, attribute: ir.Attribute, expected: tuple[str, ...]) -> None:
    if spell(attribute.type) not in expected:
        writer.gate.refuse(f"attribute {attribute} has no form in bytecode: expected one of {', '.join(expected)}")


def _typed_elements(writer: AttributeWriter, attribute: ir.Attribute, encoder: Encoder) -> None:
    tensor = ir.RankedTensorType(attribute.type)
    encoder.varint(writer.types.index(TileType.get(tensor.shape, tensor.element_type)))
    encoder.varint(writer.constants.index(attribute))


def _div_by(_writer: AttributeWriter, attribute: DivByAttr, encoder: Encoder) -> None:
    encoder.varint(attribute.divisor)
    _optional_pair(attribute.every, attribute.along, encoder)


def _same_elements(writer: AttributeWriter, attribute: SameElementsAttr, encoder: Encoder) -> None:
    writer.integers(list(attribute.values), 64, encoder)


def _bounded(_writer: AttributeWriter, attribute: BoundedAttr, encoder: Encoder) -> None:
    _optional_pair(attribute.lower, attribute.upper, encoder)


def _optional_pair(first: int | None, second: int | None, encoder: Encoder) -> None:
    encoder.byte((first is not None) | (second is not None) << 1)
    for value in (first, second):
        if value is not None:
            encoder.signed_varint(value)


# By the class of the attribute. A BoolAttr is also an i1 integer; its own tag is shorter.
_TAGGED: dict[type[ir.Attribute], Callable[[AttributeWriter, ir.Attribute, Encoder], None]] = {
    ir.IntegerAttr: _after(AttributeTag.INTEGER, _typed_integer),
    ir.FloatAttr: _after(AttributeTag.FLOAT, _typed_float),
    ir.BoolAttr: _after(AttributeTag.BOOLEAN, _boolean),
    ir.TypeAttr: _after(AttributeTag.TYPE, _type),
    ir.StringAttr: _after(AttributeTag.STRING, _string),
    ir.ArrayAttr: _after(AttributeTag.ARRAY, _array),
    ir.DictAttr: _after(AttributeTag.DICTIONARY, _dictionary),
    ir.DenseIntElementsAttr: _after(AttributeTag.DENSE_ELEMENTS, _typed_elements),
    ir.DenseFPElementsAttr: _after(AttributeTag.DENSE_ELEMENTS, _typed_elements),
    DivByAttr: _after(AttributeTag.DIV_BY, _div_by),
    SameElementsAttr: _after(AttributeTag.SAME_ELEMENTS, _same_elements),
    BoundedAttr: _after(AttributeTag.BOUNDED, _bounded),
}
