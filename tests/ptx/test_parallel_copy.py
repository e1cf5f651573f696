"""A parallel copy assigns each destination the value that its source had before the copy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilec.lowering.ptx.body import sequentialize

REGISTERS = ["a", "b", "c", "d", "e", "f"]


def run(moves: list[tuple[str, str]]) -> dict[str, str]:
    values = {name: f"{name} before" for name in [*REGISTERS, "spare"]}
    for destination, source in moves:
        values[destination] = values[source]
    return values


def moves_of(*copies: tuple[str, str]) -> list[tuple[str, str]]:
    return sequentialize(copies, lambda register: "spare")


@given(st.dictionaries(st.sampled_from(REGISTERS), st.sampled_from(REGISTERS)))
def test_sequence_of_moves_equals_the_parallel_copy(copies: dict[str, str]) -> None:
    after = run(moves_of(*copies.items()))
    for name in REGISTERS:
        assert after[name] == f"{copies.get(name, name)} before"


@given(st.permutations(REGISTERS))
def test_each_cycle_needs_one_additional_move(order: list[str]) -> None:
    copies = dict(zip(REGISTERS, order, strict=True))
    moved = {name for name in REGISTERS if copies[name] != name}
    cycles = 0
    while moved:
        cycles += 1
        name = moved.pop()
        while copies[name] in moved:
            name = copies[name]
            moved.remove(name)
    moves = moves_of(*copies.items())
    assert len(moves) == sum(name != source for name, source in copies.items()) + cycles


def test_chain_is_written_from_its_end() -> None:
    assert moves_of(("a", "b"), ("b", "c")) == [("a", "b"), ("b", "c")]
    assert moves_of(("b", "a"), ("c", "b")) == [("c", "b"), ("b", "a")]


def test_swap_uses_the_spare_register() -> None:
    moves = moves_of(("a", "b"), ("b", "a"))
    assert len(moves) == 3
    assert run(moves)["a"] == "b before"


def test_one_source_of_several_destinations() -> None:
    assert sorted(moves_of(("a", "c"), ("b", "c"), ("c", "c"))) == [("a", "c"), ("b", "c")]
