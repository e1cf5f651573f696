"""Prints attributes in the form of Tile IR assembly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tilec.dialect.assembly.attributes.debug_info_printer import spell_debug_info
from tilec.dialect.assembly.attributes.hint_integers import HINT_BITS, fits_hint
from tilec.dialect.cuda_tile.attributes import PREDICATES
from tilec.dialect.cuda_tile.debug_info import NODES
from tilec.dialect.fields import AttributeField
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

_DEBUG_INFO = tuple(NODES.values())
_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def spell_symbol(name: str) -> str:
    """`@name`, quoted if the name is not a bare identifier."""
    return f"@{name}" if _BARE_NAME.fullmatch(name) else f"@{ir.StringAttr.get(name)}"


def spell_attribute(attribute: ir.Attribute) -> str:
    """Prints an attribute; 64-bit integers show their type as in MLIR."""
    if isinstance(attribute, PREDICATES):
        return attribute.spelled()
    if isinstance(attribute, _DEBUG_INFO):
        return spell_debug_info(attribute)
    return spell_composite(attribute, spell_attribute, spell_dictionary) or str(attribute)


def spell_composite(
    attribute: ir.Attribute,
    spell_element: Callable[[ir.Attribute], str],
    spell_entries: Callable[[Mapping[str, ir.Attribute]], str],
) -> str:
    """Prints a dictionary, an array or a type; empty for other attributes."""
    if isinstance(attribute, ir.DictAttr):
        return spell_entries({named.name: named.attr for named in attribute})
    if isinstance(attribute, ir.ArrayAttr):
        return f"[{', '.join(map(spell_element, attribute))}]"
    return spell(attribute.value) if isinstance(attribute, ir.TypeAttr) else ""


def spell_dictionary(attributes: Mapping[str, ir.Attribute], opening: str = "{", closing: str = "}") -> str:
    """`{name = attribute, name}`: unit attributes have no value; 32-bit integers of hints have no type."""
    entries = []
    for name, attribute in attributes.items():
        name = spell_key(name)
        if isinstance(attribute, ir.UnitAttr):
            entries.append(name)
        elif opening == "<" and isinstance(attribute, ir.DictAttr):
            inner = ", ".join(f"{spell_key(each.name)} = {_hint(each.attr)}" for each in attribute)
            entries.append(f"{name} = {{{inner}}}")
        else:
            entries.append(f"{name} = {spell_attribute(attribute)}")
    return f"{opening}{', '.join(entries)}{closing}"


def spell_fields(fields: Mapping[str, AttributeField], attributes: Mapping[str, ir.Attribute]) -> str:
    """`{name = attribute}`, with keywords of fields in their enumeration."""
    spelled = []
    for name, attribute in attributes.items():
        field = fields.get(name)
        if field is not None and field.enumeration and isinstance(attribute, ir.StringAttr):
            spelled.append(f"{name} = #cuda_tile.{field.enumeration}<{attribute.value}>")
        else:
            spelled.append(spell_dictionary({name: attribute})[1:-1])
    return f"{{{', '.join(spelled)}}}"


def spell_key(name: str) -> str:
    """The key of a dictionary, quoted if it is not a bare identifier."""
    return name if _BARE_NAME.fullmatch(name) else str(ir.StringAttr.get(name))


def _bare_type(value: int) -> str:
    """The type of an integer printed without one."""
    return f"i{HINT_BITS}" if fits_hint(value) else "i64"


def _hint(attribute: ir.Attribute) -> str:
    if isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == _bare_type(attribute.value):
        return str(attribute.value)
    return spell_attribute(attribute)
