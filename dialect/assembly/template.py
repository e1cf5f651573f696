"""The `assembly` format language, compiled to elements for reader and printer.

    $name            an operand, a keyword, a number, .. as the field says; a flag is its own name
    type($name)      the type of a field
    { ... }          printed when the fields inside are there and not the default; read when its first token is next
    attr-dict        the attributes that the format does not name; keyed-attr-dict puts `attributes` before
    word($name)      a directive with a reader and a printer of its own (see directives.py)

Everything else is literal: printed as it stands, blanks included, and read token by token.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tilec.dialect.assembly.tokens.lexer import END, tokenize
from tilec.dialect.assembly.tokens.source import Source
from tilec.dialect.fields import AttributeField, ValueField

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


@dataclass(frozen=True)
class Literal:
    """Fixed text and its tokens."""

    text: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class OperandElement:
    field: ValueField


@dataclass(frozen=True)
class AttributeElement:
    field: AttributeField


@dataclass(frozen=True)
class TypeElement:
    field: ValueField


@dataclass(frozen=True)
class AttributeDictionary:
    keyed: bool


@dataclass(frozen=True)
class Directive:
    name: str
    argument: str


@dataclass(frozen=True)
class Group:
    """Elements that are all present or all absent."""

    elements: Template


# One of the classes in this module. Readers and printers dispatch on the class through tables.
Element: TypeAlias = Any
Template: TypeAlias = tuple[Element, ...]


_PIECE = re.compile(r"type\(\$(\w+)\)|(\w+)\((?:\$(\w+))?\)|\$(\w+)| ?(keyed-attr-dict|attr-dict)|(\{)|(\})")


@functools.cache
def compile_template(operation_class: type[Operation]) -> Template:
    """The elements of an operation's assembly format; raises ValueError for an unknown field."""
    elements, _ = _elements(operation_class, operation_class.assembly, 0, is_group=False)
    return tuple(elements)


@functools.cache
def attributes_in_format(operation_class: type[Operation]) -> frozenset[str]:
    """The attributes that the assembly format prints."""
    return frozenset(_in_format(compile_template(operation_class)))  # type: ignore[arg-type]


def _in_format(elements: Template) -> Iterator[str]:
    for element in elements:
        if isinstance(element, AttributeElement):
            yield element.field.name
        elif isinstance(element, Directive):
            yield element.argument
        elif isinstance(element, Group):
            yield from _in_format(element.elements)


def _elements(cls: type[Operation], text: str, at: int, is_group: bool) -> tuple[list[Element], int]:
    found: list[Element] = []
    while at < len(text):
        match = _PIECE.search(text, at)
        literal = text[at : match.start() if match else len(text)]
        if literal:
            found.append(_literal(literal))
        if match is None:
            break
        at = match.end()
        typed, directive, argument, field, dictionary, opening, closing = match.groups()
        if closing and is_group:
            return found, at
        if closing:
            raise _unbalanced(cls)
        if opening:
            inner, at = _elements(cls, text, at, is_group=True)
            found.append(Group(tuple(inner)))
        elif typed:
            found.append(TypeElement(_field(cls, typed)))
        elif directive:
            found.append(Directive(directive, argument or ""))
        elif dictionary:
            found.append(AttributeDictionary(dictionary == "keyed-attr-dict"))
        else:
            named = _field(cls, field)
            found.append(AttributeElement(named) if isinstance(named, AttributeField) else OperandElement(named))
    if is_group:
        raise _unbalanced(cls)
    return found, len(text)


def _unbalanced(cls: type[Operation]) -> ValueError:
    return ValueError(f"{cls.OPERATION_NAME}: unbalanced braces in its assembly line")


def _literal(text: str) -> Literal:
    tokens, _ = tokenize(Source(text, "<assembly line>"))
    return Literal(text, tuple(token for token in tokens if token != END))


def _field(cls: type[Operation], name: str) -> Any:
    for field in cls.fields:
        if field.name == name:
            return field
    raise ValueError(f"{cls.OPERATION_NAME}: no field '{name}' for its assembly line")
