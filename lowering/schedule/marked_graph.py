"""Liveness of marked graphs: transitions that fire repeatedly, and places with tokens between them.

A place from u to v with t tokens lets firing k of v follow firing k - t of u. With a negative number v waits for a
later firing of u. The graph is live if and only if each directed cycle holds at least one token (F. Commoner, A. W.
Holt, S. Even, A. Pnueli, Marked directed graphs, 1971): firings of a cycle without tokens wait for each other.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """A place between two transitions, by their numbers, with the tokens that it holds at first."""

    source: int
    target: int
    tokens: int = 0


def token_free_cycle(transitions: int, places: Sequence[Place]) -> list[Place] | None:
    """A cycle that holds no token, as its places in order; None if the graph is live.

    A cycle whose tokens add up to a negative number is one, too.
    """
    if all(place.tokens >= 0 for place in places):
        return _cycle_of(transitions, [place for place in places if not place.tokens])
    firsts = _first_firings(transitions, places)
    if not isinstance(firsts, list):
        return firsts.places
    # Firings are counted from `firsts` on: then no place has a negative number of tokens, and cycles keep theirs.
    counted = [place.tokens + firsts[place.source] - firsts[place.target] for place in places]
    return _cycle_of(transitions, [place for place, tokens in zip(places, counted, strict=True) if not tokens])


def all_fire(rows: Sequence[range], awaited: Mapping[int, Sequence[int]]) -> bool:
    """Whether a graph without tokens is live whose transitions are in rows, each after the one before it in its row.

    `awaited` has the other sources of a transition, which are in other rows. This is token_free_cycle() of that graph,
    without a place for each neighbour.
    """
    has_fired = bytearray(sum(map(len, rows)))
    following, ready = [row.start for row in rows], list(range(len(rows)))
    # The rows that wait for a transition.
    blocked: defaultdict[int, list[int]] = defaultdict(list)
    while ready:
        row = ready.pop()
        for transition in range(following[row], rows[row].stop):
            sources = awaited.get(transition)
            source = next((each for each in sources if not has_fired[each]), None) if sources else None
            if source is not None:
                following[row] = transition
                blocked[source].append(row)
                break
            has_fired[transition] = True
            ready += blocked.pop(transition, ())
    return not blocked


def span(transitions: int, places: Sequence[Place]) -> int:
    """The most firings by which a chain of places of a live graph goes back."""
    firsts = _first_firings(transitions, places)
    assert isinstance(firsts, list), "the graph is live"
    return max(firsts, default=0) - min(firsts, default=0)


@dataclass(frozen=True)
class _NegativeCycle:
    places: list[Place]


def _first_firings(transitions: int, places: Sequence[Place]) -> list[int] | _NegativeCycle:
    """For each transition a number that exceeds that of no source by more than the tokens between both.

    These are shortest paths (Bellman and Ford); a negative cycle has none.
    """
    following: list[list[Place]] = [[] for _ in range(transitions)]
    for place in places:
        following[place.source].append(place)
    firsts = [0] * transitions
    before: list[Place | None] = [None] * transitions
    lengths = [0] * transitions
    waiting, is_waiting = deque(range(transitions)), [True] * transitions
    while waiting:
        source = waiting.popleft()
        is_waiting[source] = False
        for place in following[source]:
            target, first = place.target, firsts[source] + place.tokens
            if first >= firsts[target]:
                continue
            firsts[target], before[target], lengths[target] = first, place, lengths[source] + 1
            if lengths[target] >= transitions and (cycle := _cycle_before(target, before)) is not None:
                return _NegativeCycle(cycle)
            if not is_waiting[target]:
                is_waiting[target] = True
                waiting.append(target)
    return firsts


def _cycle_before(transition: int, before: Sequence[Place | None]) -> list[Place] | None:
    """The cycle in the places `before` a transition, in their order; None if they start somewhere."""
    seen: dict[int, int] = {}
    path: list[Place] = []
    while transition not in seen:
        seen[transition] = len(path)
        place = before[transition]
        if place is None:
            return None
        path.append(place)
        transition = place.source
    return path[seen[transition] :][::-1]


def _cycle_of(transitions: int, places: Sequence[Place]) -> list[Place] | None:
    """A cycle of a graph, or None: if removing all transitions without sources leaves any, they contain a cycle."""
    sources = [0] * transitions
    following: list[list[Place]] = [[] for _ in range(transitions)]
    preceding: list[list[Place]] = [[] for _ in range(transitions)]
    for place in places:
        sources[place.target] += 1
        following[place.source].append(place)
        preceding[place.target].append(place)
    ready = [number for number, count in enumerate(sources) if not count]
    removed = [False] * transitions
    while ready:
        source = ready.pop()
        removed[source] = True
        for place in following[source]:
            sources[place.target] -= 1
            if not sources[place.target]:
                ready.append(place.target)
    left = next((number for number, is_removed in enumerate(removed) if not is_removed), None)
    if left is None:
        return None
    before = [next((place for place in found if not removed[place.source]), None) for found in preceding]
    return _cycle_before(left, before)
