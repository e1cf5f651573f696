"""Reads Tile IR bytecode into a module; malformed input raises InputError with the byte offset.

Operations without a location in the file get `k.tileirbc:@matmul:17`: file, kernel, number of the operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tilec.dialect.bytecode.reading.attribute_reader import AttributeReader
from tilec.dialect.bytecode.reading.constant_reader import ConstantReader
from tilec.dialect.bytecode.reading.cursor import Cursor, Malformed
from tilec.dialect.bytecode.reading.debug_section_reader import DebugSectionReader
from tilec.dialect.bytecode.reading.function_reader import FunctionReader
from tilec.dialect.bytecode.reading.global_reader import read_globals
from tilec.dialect.bytecode.reading.operation_reader import Plans
from tilec.dialect.bytecode.reading.section_reader import Sections, read_sections
from tilec.dialect.bytecode.reading.table_reader import Strings, Table
from tilec.dialect.bytecode.reading.type_reader import TypeReader
from tilec.dialect.bytecode.tags import SECTION_SINCE, Section
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError, SourceLocation

# The format does not store the name of a module; NVIDIA's tools use this one.
_NAME = "kernels"
_PRODUCER = "cuda_tile.producer"


def read_module(data: bytes, file: str) -> ir.Module:
    """The module in the bytes of a file, not verified; raises InputError."""
    try:
        with context():
            return _FileReader(read_sections(data), file).module()
    except Malformed as error:
        raise _input_error(error, file) from None


def _input_error(error: Malformed, file: str) -> InputError:
    message = f"byte {error.offset} ({error.section}): {error.message}"
    if not error.function:
        return InputError(message, SourceLocation(file, 0))
    operation = f"'{error.operation}': " if error.operation else ""
    return InputError(f"{operation}{message}", SourceLocation(f"{file}:@{error.function}", error.number))


class _FileReader:
    def __init__(self, sections: Sections, file: str) -> None:
        self._sections, self._file = sections, file
        self._strings = Strings(self._table(Section.STRINGS, "string"))
        types = TypeReader(self._table(Section.TYPES, "type"), sections.version)
        constants = ConstantReader(self._table(Section.CONSTANTS, "constant", 8), types)
        self._attributes = AttributeReader(sections.version, self._strings, types, constants)
        debug = sections[Section.DEBUG] if Section.DEBUG in sections else None
        self._debug = None if debug is None else DebugSectionReader(debug, self._strings, sections.version)

    def _table(self, section: Section, kind: str, offset_size: int = 4) -> Table:
        return Table(kind, self._sections[section] if section in self._sections else None, offset_size)

    def module(self) -> ir.Module:
        module = ir.Module.create(loc=ir.Location.file(self._file, 0, 0))
        module.operation.attributes["sym_name"] = ir.StringAttr.get(_NAME)
        if Section.PRODUCER in self._sections and self._sections.version >= SECTION_SINCE[Section.PRODUCER]:
            producer = self._strings.read(self._sections[Section.PRODUCER])
            module.operation.attributes[_PRODUCER] = ir.StringAttr.get(producer)
        point, names = ir.InsertionPoint(module.body), set[str]()
        if Section.GLOBALS in self._sections:
            read_globals(self._sections[Section.GLOBALS], self._attributes, names, self._file, point)
        plans = Plans(self._attributes, self._sections.preview)
        FunctionReader(plans, self._locations, names).read(self._sections[Section.FUNCTIONS], point)
        return module

    def _locations(self, cursor: Cursor, function: str) -> Iterator[ir.Location]:
        """The locations in the debug section, or the number of each operation if there is none."""
        numbered = (ir.Location.file(f"{self._file}:@{function}", at, 0) for at in count())
        start, number = cursor.at, cursor.number()
        if not number:
            return numbered
        if self._debug is None:
            cursor.fail(f"expected 0, as the file has no debug section, but got the list of locations {number}", start)
        unknown = ir.Location.unknown()
        pairs = zip(self._debug.function(number), numbered, strict=True)
        return (location if found == unknown else found for found, location in pairs)
