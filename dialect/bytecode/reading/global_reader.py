"""Reads the records of the global section as operations of the module."""

from __future__ import annotations

from tilec.dialect.bytecode.reading.attribute_reader import AttributeReader
from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.reading.function_reader import new_name
from tilec.dialect.bytecode.version import Version
from tilec.dialect.cuda_tile.operations.entry import GlobalOp
from tilec.dialect.mlir import ir

# The first version with visibility and constness.
_QUALIFIED = Version(13, 3)
_FIELDS, _QUALIFIED_FIELDS = 4, 6


def read_globals(
    cursor: Cursor, attributes: AttributeReader, names: set[str], file: str, point: ir.InsertionPoint
) -> None:
    """Reads all globals of a section into a module."""
    qualified = attributes.version >= _QUALIFIED
    alignment = attributes.field(GlobalOp.attribute_fields["alignment"])
    visibility = attributes.field(GlobalOp.attribute_fields["symbol_visibility"])
    for _ in range(cursor.count("globals", _QUALIFIED_FIELDS if qualified else _FIELDS)):
        name = new_name(attributes, cursor, names)
        stored = {"sym_name": ir.StringAttr.get(name)}
        stored["value"] = attributes.constants.read(attributes.types.read(cursor), cursor)
        stored["alignment"] = alignment(cursor)
        stored["symbol_visibility"] = visibility(cursor) if qualified else ir.StringAttr.get("public")
        if qualified and cursor.number():
            stored["constant"] = ir.UnitAttr.get()
        location = ir.Location.file(f"{file}:@{name}", 0, 0)
        ir.Operation.create("cuda_tile.global", [], [], stored, regions=0, loc=location, ip=point)
