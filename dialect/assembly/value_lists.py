"""Reads lists of values and of arguments, with the positions of their names among the tokens, and checks types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.argument_locations import ArgumentLocations
from tilec.dialect.assembly.tokens.tokens import shown
from tilec.dialect.mlir import ir

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader

# A name and the offset of its token in the text.
Name = tuple[str, int]


def read_values(reader: Reader) -> tuple[list[ir.Value], list[int]]:
    """`%a, %b`, possibly empty, with the token index of each."""
    values: list[ir.Value] = []
    positions: list[int] = []

    def value() -> None:
        positions.append(reader.tokens.at)
        values.append(reader.scope.use())

    if reader.tokens.peek()[:1] == "%":
        reader.tokens.separated(value)
    return values, positions


def read_initial_values(reader: Reader) -> tuple[list[Name], list[ir.Value], list[int]]:
    """`(%a = %x, ..)`: names, values, and the token index of each value."""
    names: list[Name] = []
    values: list[ir.Value] = []
    positions: list[int] = []

    def entry() -> None:
        names.append(read_argument_name(reader))
        reader.tokens.expect("=")
        positions.append(reader.tokens.at)
        values.append(reader.scope.use())

    reader.tokens.comma_list("(", ")", entry)
    return names, values, positions


def read_argument_name(reader: Reader) -> Name:
    """`%a`, the name of a new value."""
    tokens = reader.tokens
    if tokens.peek()[:1] != "%":
        tokens.fail(f"expected an argument name (%name), but got {shown(tokens.peek())}")
    return tokens.next(), tokens.offsets[tokens.at - 1]


def read_arguments(reader: Reader, locations: ArgumentLocations | None = None) -> tuple[list[Name], list[ir.Type]]:
    """`(%a: i32, ..)`, each with an optional location if `locations` is set."""
    names: list[Name] = []

    def entry() -> ir.Type:
        names.append(read_argument_name(reader))
        reader.tokens.expect(":")
        type = reader.tokens.type()
        if locations is not None:
            reader.locations.take(locations.setter(len(names) - 1))
        return type

    return names, reader.tokens.comma_list("(", ")", entry)


def check_types(reader: Reader, values: Sequence[ir.Value], positions: Sequence[int], types: Sequence[ir.Type]) -> None:
    """Checks that values, named by the tokens at `positions`, have the types in the text."""
    if len(values) != len(types):
        reader.tokens.fail(f"expected as many types as values ({len(values)}), but got {len(types)}")
    for at, value, type in zip(positions, values, types, strict=True):
        reader.scope.check(at, value, type)
