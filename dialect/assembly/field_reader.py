"""Reads the attributes of an operation by their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.assembly.attributes.attributes import read_attribute, read_hints, read_integer, read_predicate
from tilec.dialect.assembly.operation_parts import Parts
from tilec.dialect.assembly.tokens.keywords import keyword_problem
from tilec.dialect.assembly.tokens.tokens import Tokens
from tilec.dialect.fields import AttributeField, AttributeKind
from tilec.dialect.mlir import ir


def read_field(tokens: Tokens, field: AttributeField, parts: Parts) -> None:
    """Reads the attribute of a field into the parts."""
    if field.keywords:
        parts.attributes[field.name] = _keyword(tokens, field)
        _check_weak(tokens, field, parts)
        return
    reader = _READERS.get(field.kind)
    found = read_attribute(tokens) if reader is None else reader(tokens, field)
    if not (field.kind is AttributeKind.BOOLEANS and _says_nothing(field, found, parts)):
        parts.attributes[field.name] = found


def _says_nothing(field: AttributeField, booleans: ir.Attribute, parts: Parts) -> bool:
    """Whether all flags are false, which equals an absent array."""
    values = list(booleans)
    indices = parts.operands.get("index")
    return not field.required and not any(values) and indices is not None and len(values) == len(indices)


def _keyword(tokens: Tokens, field: AttributeField) -> ir.Attribute:
    word = tokens.peek()
    if word not in field.keywords:
        tokens.fail(keyword_problem(field, word))
    tokens.next()
    return field.to_attribute(word)


def _check_weak(tokens: Tokens, field: AttributeField, parts: Parts) -> None:
    """Reads a scope, which must not follow `weak` in the text of view accesses."""
    ordering = parts.attributes.get("memory_ordering_semantics")
    weak = ordering is not None and ordering.value == "weak"
    if field.name == "memory_scope" and not field.required and weak and "view" in parts.name:
        tokens.fail(
            "operation specifies weak memory ordering semantics, "
            f'but then provides "{parts.attributes["memory_scope"].value}" scope, expected no memory scope.'
        )


def _flag(tokens: Tokens, field: AttributeField) -> ir.Attribute:
    tokens.expect(field.name)
    return ir.UnitAttr.get()


def _integer(tokens: Tokens, field: AttributeField) -> ir.Attribute:
    return field.to_attribute(read_integer(tokens, bits=field.kind.bits))


def _string(tokens: Tokens, _: AttributeField) -> ir.Attribute:
    if tokens.peek()[:1] != '"':
        tokens.fail(f"expected a string, but got '{tokens.peek()}'")
    return ir.StringAttr.get(tokens.string())


def _symbol(tokens: Tokens, _: AttributeField) -> ir.Attribute:
    return ir.StringAttr.get(tokens.symbol())


def _integers(tokens: Tokens, field: AttributeField) -> ir.Attribute:
    return field.to_attribute(_until_bracket(tokens, lambda: read_integer(tokens, bits=32)))


def _booleans(tokens: Tokens, field: AttributeField) -> ir.Attribute:
    return field.to_attribute(_until_bracket(tokens, lambda: _boolean(tokens)))


def _boolean(tokens: Tokens) -> bool:
    if tokens.peek() not in ("true", "false"):
        tokens.fail(f"expected true or false, but got '{tokens.peek()}'")
    return tokens.next() == "true"


def _until_bracket(tokens: Tokens, read: Callable[[], Any]) -> list[Any]:
    return [] if tokens.peek() == "]" else tokens.separated(read)


_READERS: dict[AttributeKind, Callable[[Tokens, AttributeField], ir.Attribute]] = {
    AttributeKind.FLAG: _flag,
    AttributeKind.INTEGER_32: _integer,
    AttributeKind.INTEGER_64: _integer,
    AttributeKind.STRING: _string,
    AttributeKind.SYMBOL: _symbol,
    AttributeKind.PREDICATE: lambda tokens, field: read_predicate(tokens),
    AttributeKind.DICTIONARY: lambda tokens, field: read_hints(tokens),
    AttributeKind.INTEGERS_32: _integers,
    AttributeKind.BOOLEANS: _booleans,
}
