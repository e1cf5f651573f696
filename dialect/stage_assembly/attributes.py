"""Prints attributes; raises NoAssembly for kinds that the reader does not support."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tilec.dialect.assembly.attributes.attribute_printer import spell_composite, spell_key
from tilec.dialect.mlir import ir

_ESCAPE = re.compile(r"\\(\\|22|0A)")
_ESCAPES = {"\\": "\\\\", "22": '\\"', "0A": "\\n"}
_PLAIN = (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr, ir.FlatSymbolRefAttr, ir.DenseElementsAttr)
_ARRAYS = (ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr)


class NoAssembly(Exception):
    """The assembly cannot express something, so MLIR prints the module."""


def spell_string(attribute: ir.Attribute) -> str:
    """A string with escaped quotes and line breaks."""
    return _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], str(attribute))


def spell_stage_attribute(attribute: ir.Attribute) -> str:
    """Prints an attribute in the form that `read_attribute` reads."""
    if isinstance(attribute, ir.StringAttr):
        return spell_string(attribute)
    if isinstance(attribute, ir.UnitAttr):
        return "unit"
    composite = spell_composite(attribute, spell_stage_attribute, spell_stage_dictionary)
    if composite:
        return composite
    text = str(attribute)
    if isinstance(attribute, (*_PLAIN, *_ARRAYS)) or text.startswith("#"):
        return text
    raise NoAssembly(f"attribute {text}")


def spell_stage_dictionary(attributes: Mapping[str, ir.Attribute]) -> str:
    """`{name = attribute, name}`: unit attributes are printed as the name alone."""
    entries = [
        spell_key(name) if isinstance(each, ir.UnitAttr) else f"{spell_key(name)} = {spell_stage_attribute(each)}"
        for name, each in attributes.items()
    ]
    return f"{{{', '.join(entries)}}}"
