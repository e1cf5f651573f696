"""Marked graphs are live where transitions that are fired one after the other all fire again and again."""

from __future__ import annotations

import random

import pytest

from tilec.lowering.schedule.marked_graph import Place, all_fire, span, token_free_cycle

# Enough for the transitions of a small graph to stop if they ever do.
FIRINGS = 60


def fires_often(transitions: int, places: list[Place]) -> bool:
    """Whether all transitions fire: each as soon as all places to it allow its next firing, with plain counts."""
    fired = [0] * transitions
    is_firing = True
    while is_firing:
        is_firing = False
        for transition in range(transitions):
            waits = [
                fired[place.source] + place.tokens <= fired[transition]
                for place in places
                if place.target == transition
            ]
            if fired[transition] < FIRINGS and not any(waits):
                fired[transition] += 1
                is_firing = True
    # A transition that waits for later firings of others ends before them.
    return min(fired) >= FIRINGS // 2


def cycle_of(transitions: int, places: list[Place]) -> list[int] | None:
    """The transitions of the cycle without tokens, from its least one on; checks that it is one."""
    found = token_free_cycle(transitions, places)
    if found is None:
        return None
    assert all(place in places for place in found)
    following = [*found[1:], found[0]]
    assert [place.target for place in found] == [place.source for place in following]
    assert sum(place.tokens for place in found) <= 0
    numbers = [place.source for place in found]
    least = numbers.index(min(numbers))
    return numbers[least:] + numbers[:least]


@pytest.mark.parametrize(
    ("places", "cycle"),
    [
        ([(0, 1, 0), (1, 0, 0)], [0, 1]),
        ([(0, 1, 0), (1, 0, 1)], None),
        # A transition that follows itself.
        ([(0, 0, 0)], [0]),
        ([(0, 0, 1)], None),
        # Two cycles through one transition, of which one holds a token.
        ([(0, 1, 0), (1, 0, 1), (1, 2, 0), (2, 1, 0)], [1, 2]),
        ([(0, 1, 0), (1, 0, 1), (1, 2, 0), (2, 1, 1)], None),
        # Firing k of transition 1 waits for firing k + 1 of transition 0, which is ahead by the tokens of the way back.
        ([(0, 1, -1), (1, 0, 1)], [0, 1]),
        ([(0, 1, -1), (1, 0, 2)], None),
        ([(0, 1, -2), (1, 0, 1)], [0, 1]),
        # The way through transition 2 has the fewest tokens.
        ([(0, 1, 0), (1, 0, 2), (0, 2, -1), (2, 1, -1)], [0, 2, 1]),
        ([(0, 1, 0), (1, 0, 2), (0, 2, -1), (2, 1, 0)], None),
        ([], None),
    ],
)  # fmt: skip
def test_cycle_without_tokens(places: list[tuple[int, int, int]], cycle: list[int] | None) -> None:
    transitions = 3
    graph = [Place(*place) for place in places]
    assert cycle_of(transitions, graph) == cycle
    assert fires_often(transitions, graph) == (cycle is None)


@pytest.mark.parametrize("seed", range(300))
def test_random_graphs_are_live_where_all_transitions_fire(seed: int) -> None:
    choose = random.Random(seed)
    transitions = choose.randint(2, 6)
    numbers = range(transitions)
    least = choose.choice((0, 0, -1))
    places = [
        Place(choose.choice(numbers), choose.choice(numbers), choose.choice((least, 0, 1, 1, 2)))
        for _ in range(choose.randint(2, 2 * transitions))
    ]
    assert (cycle_of(transitions, places) is None) == fires_often(transitions, places)


@pytest.mark.parametrize(
    ("places", "most"),
    [
        ([(0, 1, 1), (1, 0, 3)], 0),
        ([(0, 1, -2), (1, 0, 3)], 2),
        ([(0, 1, -2), (1, 2, -1), (2, 0, 4)], 3),
    ],
)
def test_span_is_how_far_chains_of_places_go_back(places: list[tuple[int, int, int]], most: int) -> None:
    assert span(3, [Place(*place) for place in places]) == most


@pytest.mark.parametrize("seed", range(200))
def test_rows_fire_unless_a_cycle_has_no_token(seed: int) -> None:
    """The rows of roles are the graph in which each transition follows the one before it in its row."""
    choose = random.Random(seed)
    ends = sorted(choose.randint(0, 9) for _ in range(choose.randint(1, 4)))
    rows = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    row_of = {transition: number for number, row in enumerate(rows) for transition in row}
    awaited: dict[int, list[int]] = {}
    for _ in range(choose.randint(0, 12) if row_of else 0):
        source, target = choose.choice(list(row_of)), choose.choice(list(row_of))
        if row_of[source] != row_of[target]:
            awaited.setdefault(target, []).append(source)
    places = [Place(source, target) for target, sources in awaited.items() for source in sources]
    places += [Place(transition, transition + 1) for row in rows for transition in row[:-1]]
    assert all_fire(rows, awaited) == (not row_of or fires_often(len(row_of), places))
