"""Random modules: every printed form is read as the same module and printed unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefixes import prefixed
from random_modules import NAMES, TERMINATORS, TOP_LEVEL, module, names_of

from tilec.dialect.bytecode.version import NEWEST
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, EXTENSION_FLOATS
from tilec.text_input.module import Module

TABLE = json.loads((Path(__file__).parents[1] / "operations.json").read_text())
# Operations that have another name in the table.
RENAMED = {"preview$call": "preview_call"}
seeds = st.integers(0, 2**32 - 1)


def check_texts(made: Module) -> None:
    """Assembly with and without prefixes and both generic forms are read as the same module."""
    text, generic, nvidia = made.to_text(), made.to_text(generic=True), made.to_text(generic="nvidia")
    for written in (text, prefixed(text), generic, nvidia):
        again = Module.parse(written)
        assert again.to_text(generic=True) == generic
        assert again.to_text() == text
        assert again.to_text(generic="nvidia") == nvidia


def check_bytecode(made: Module) -> None:
    """A module that bytecode can represent is read back as the same module and written as the same bytes."""
    data = made.to_bytecode(str(NEWEST))
    again = Module.parse(data, "k.tileirbc")
    assert again.to_text(generic=True) == made.to_text(generic=True)
    assert again.to_bytecode(str(NEWEST)) == data


@given(seeds, st.integers(0, 16))
@settings(max_examples=60, deadline=None)
def test_text_round_trips(seed: int, operations: int) -> None:
    check_texts(module(seed, operations))


@given(seeds, st.integers(0, 16))
@settings(max_examples=60, deadline=None)
def test_bytecode_round_trip(seed: int, operations: int) -> None:
    check_bytecode(module(seed, operations, text_only=False))


@pytest.mark.parametrize("name", NAMES)
def test_each_operation(name: str) -> None:
    for seed in range(3):
        made = module(seed, 0, name)
        assert name in names_of(made)
        check_texts(made)
        if name != "preview_call":
            check_bytecode(module(seed, 0, name, text_only=False))


def test_each_operation_of_the_table_is_generated() -> None:
    table = {RENAMED.get(op["name"], op["name"]) for op in TABLE["ops"]} - {"module"}
    assert len(table) == 108
    assert table == {*NAMES, *TERMINATORS, *TOP_LEVEL}
    whole = set().union(*(names_of(module(seed)) for seed in range(20)))
    assert {*TERMINATORS, *TOP_LEVEL} <= whole


def test_each_element_type_is_generated() -> None:
    found = set().union(*(names_of(module(seed)) for seed in range(20)))
    assert set(ELEMENT_BITS) - set(EXTENSION_FLOATS) <= found


def test_locations_round_trip() -> None:
    for seed in range(5):
        made = module(seed)
        text = made.to_text(locations=True)
        assert Module.parse(text, "elsewhere").to_text(locations=True) == text


@pytest.mark.soak
@given(seeds, st.integers(0, 60), st.booleans())
@settings(max_examples=3000, deadline=None)
def test_round_trips_of_many_modules(seed: int, operations: int, text_only: bool) -> None:
    made = module(seed, operations, text_only=text_only)
    check_texts(made)
    if not text_only:
        check_bytecode(made)
