"""Reads self-contained attributes, and attributes whose kind is given by the field of an operation."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tilec.dialect.bytecode.reading.constant_reader import ConstantReader
from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.reading.table_reader import Strings
from tilec.dialect.bytecode.reading.type_reader import TypeReader
from tilec.dialect.bytecode.tags import KEYWORD_SINCE, AttributeTag
from tilec.dialect.bytecode.version import Version
from tilec.dialect.cuda_tile.attributes import PREDICATES, BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, FLOATS
from tilec.dialect.fields import AttributeField, AttributeKind
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

# Arrays and dictionaries hold each other; hints are three levels deep.
_DEEPEST = 32
_BYTE_BITS = 8
_FIRST, _SECOND = 1, 2

# Reads one attribute; None stands for an attribute that equals its absence.
Read = Callable[[Cursor], ir.Attribute | None]


class AttributeReader:
    """Reads attributes with the tables of a file."""

    def __init__(self, version: Version, strings: Strings, types: TypeReader, constants: ConstantReader) -> None:
        self.version = version
        self.strings, self.types, self.constants = strings, types, constants
        self._depth = 0

    def field(self, field: AttributeField) -> Read:
        """The reader of a field's attribute, which has no tag; elements are read by their type instead."""
        if field.numbering:
            return self._keyword(field)
        return functools.partial(_FIELDS[field.kind], self)

    def tagged(self, cursor: Cursor) -> ir.Attribute:
        """Reads the next attribute with its tag."""
        start, tag = cursor.at, cursor.number()
        reader = _TAGGED.get(tag)
        if reader is None:
            cursor.fail(f"unknown attribute tag {tag}, expected one of 1 to {max(_TAGGED)}", start)
        self._depth += 1
        if self._depth > _DEEPEST:
            cursor.fail(f"attributes are nested more than {_DEEPEST} deep", start)
        found = reader(self, cursor)
        self._depth -= 1
        return found

    def dictionary(self, cursor: Cursor) -> ir.DictAttr:
        """Reads the number of entries, then the key and value of each."""
        entries: dict[str, ir.Attribute] = {}
        for _ in range(cursor.count("entries of a dictionary", 2)):
            start, key = cursor.at, self.strings.read(cursor)
            if not key:
                cursor.fail("expected a key in a dictionary, but got an empty string", start)
            if "\0" in key:
                # The bindings of MLIR cut a key at its first NUL byte.
                cursor.fail(f"expected a key without zero bytes in a dictionary, but got {key!r}", start)
            if key in entries:
                cursor.fail(f"duplicate key '{key}' in a dictionary", start)
            entries[key] = self.tagged(cursor)
        return ir.DictAttr.get(entries)

    def hints(self, cursor: Cursor) -> ir.DictAttr:
        """Reads a dictionary from architectures to dictionaries of hints."""
        start, found = cursor.at, self.dictionary(cursor)
        for each in found:
            if not isinstance(each.attr, ir.DictAttr):
                cursor.fail(f"expected a dictionary of hints for '{each.name}', but got {each.attr}", start)
        return found

    def array(self, cursor: Cursor) -> ir.ArrayAttr:
        """Reads the number of elements, then each with its tag."""
        return ir.ArrayAttr.get([self.tagged(cursor) for _ in range(cursor.count("elements of an array"))])

    def symbol(self, cursor: Cursor) -> str:
        """Reads a non-empty string."""
        start, name = cursor.at, self.strings.read(cursor)
        return name or cursor.fail("expected a name, but got an empty string", start)

    def _keyword(self, field: AttributeField) -> Read:
        keywords = field.numbering
        attributes = [ir.StringAttr.get(keyword) for keyword in keywords]
        young = {keywords.index(word): since for word, since in KEYWORD_SINCE.items() if word in keywords}
        too_young = {number: since for number, since in young.items() if since > self.version}

        def read(cursor: Cursor) -> ir.Attribute:
            start, number = cursor.at, cursor.number()
            if number >= len(attributes):
                last = len(attributes) - 1
                cursor.fail(f"invalid number {number} for '{field.name}', expected one of 0 to {last}", start)
            if number in too_young:
                needed = f"needs Tile IR {too_young[number]} or newer, but the file is of {self.version}"
                cursor.fail(f"'{keywords[number]}' for '{field.name}' {needed}", start)
            return attributes[number]

        return read


def _string(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.StringAttr.get(reader.strings.read(cursor))


def _symbol(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.StringAttr.get(reader.symbol(cursor))


def _type(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.TypeAttr.get(reader.types.read(cursor))


def _boolean(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.BoolAttr.get(cursor.byte() != 0)


def _booleans(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.DenseBoolArrayAttr.get([byte != 0 for byte in cursor.take(cursor.count("booleans"))])


def _integers(width: int, cursor: Cursor) -> list[int]:
    start, found = cursor.at, cursor.integers(width // 8, "integers")
    limit = 1 << (width - 1)
    refused = next((value for value in found if value in (-limit, limit - 1)), None)
    if refused is not None:
        cursor.fail(f"array contains {refused}, an extreme of i{width}, which Tile IR does not support", start)
    return found


def _integers32(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get(_integers(32, cursor))


def _of_width(width: int) -> Callable[[AttributeReader, Cursor], ir.Attribute]:
    type = functools.partial(ir.IntegerType.get_signless, width)
    return lambda reader, cursor: ir.IntegerAttr.get(type(), _wrapped(width, cursor))


def _wrapped(width: int, cursor: Cursor) -> int:
    """The signed number with these bits."""
    start, value = cursor.at, cursor.number()
    if value >> width:
        cursor.fail(f"value {value} does not fit in {width} bits", start)
    return value - (1 << width) if value >> (width - 1) else value


def _dictionary(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return reader.dictionary(cursor)


def _hints(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return reader.hints(cursor)


def _array(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return reader.array(cursor)


def _predicate(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    start, found = cursor.at, reader.tagged(cursor)
    if not isinstance(found, PREDICATES):
        cursor.fail(f"expected div_by, same_elements or bounded, but got {found}", start)
    return found


# By the kind of the field.
_FIELDS: dict[AttributeKind, Callable[[AttributeReader, Cursor], ir.Attribute]] = {
    AttributeKind.STRING: _string,
    AttributeKind.SYMBOL: _symbol,
    AttributeKind.TYPE: _type,
    AttributeKind.ARRAY: _array,
    AttributeKind.INTEGERS_32: _integers32,
    AttributeKind.BOOLEANS: _booleans,
    AttributeKind.BOOLEAN: _boolean,
    AttributeKind.DICTIONARY: _hints,
    AttributeKind.PREDICATE: _predicate,
    AttributeKind.INTEGER_32: _of_width(32),
    AttributeKind.INTEGER_64: _of_width(64),
}


def _integer(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    start, type = cursor.at, reader.types.read(cursor)
    if not isinstance(type, ir.IntegerType):
        cursor.fail(f"expected the type of an integer, but got {quote(type)}", start)
    if type.width == 1:
        return _boolean(reader, cursor)
    return ir.IntegerAttr.get(type, _wrapped(type.width, cursor))


def _float(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    start, type = cursor.at, reader.types.read(cursor)
    if spell(type) not in FLOATS:
        cursor.fail(f"expected the type of a float, but got {quote(type)}", start)
    start, width = cursor.at, ELEMENT_BITS[spell(type)]
    bits = cursor.byte() if width <= _BYTE_BITS else cursor.signed() & (1 << 64) - 1
    if bits >> width:
        cursor.fail(f"value {bits} does not fit in the {width} bits of {spell(type)}", start)
    # The bindings take a Python float, which cannot hold the bits of every NaN.
    return ir.Attribute.parse(f"0x{bits:0{-(-width // 4)}X} : {type}")


def _elements(reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return reader.constants.read(reader.types.read(cursor), cursor)


def _div_by(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return DivByAttr.get(_wrapped(64, cursor), *_pair(cursor))


def _same_elements(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return SameElementsAttr.get(_integers(64, cursor))


def _bounded(_reader: AttributeReader, cursor: Cursor) -> ir.Attribute:
    return BoundedAttr.get(*_pair(cursor))


def _pair(cursor: Cursor) -> tuple[int | None, int | None]:
    """Reads two optional signed numbers, each with a bit for its presence."""
    start, there = cursor.at, cursor.number()
    if there & ~(_FIRST | _SECOND):
        cursor.fail(f"unknown bits 0x{there & ~(_FIRST | _SECOND):x} among those of two numbers", start)
    return cursor.signed() if there & _FIRST else None, cursor.signed() if there & _SECOND else None


_TAGGED: dict[int, Callable[[AttributeReader, Cursor], ir.Attribute]] = {
    AttributeTag.INTEGER: _integer,
    AttributeTag.FLOAT: _float,
    AttributeTag.BOOLEAN: _boolean,
    AttributeTag.TYPE: _type,
    AttributeTag.STRING: _string,
    AttributeTag.ARRAY: _array,
    AttributeTag.DENSE_ELEMENTS: _elements,
    AttributeTag.DIV_BY: _div_by,
    AttributeTag.SAME_ELEMENTS: _same_elements,
    AttributeTag.DICTIONARY: _dictionary,
    AttributeTag.OPTIMIZATION_HINTS: _hints,
    AttributeTag.BOUNDED: _bounded,
}
