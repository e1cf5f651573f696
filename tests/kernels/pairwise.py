"""Covering arrays: few rows in which every pair of values of two parameters occurs (pairwise testing)."""

from __future__ import annotations

import itertools
import random as random_numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]
# Whether a row is possible; it is asked for rows of some parameters, and a row that is extended stays impossible.
Allowed = Callable[[Mapping[str, Any]], bool]


def all_pairs(parameters: Mapping[str, Sequence[Any]], allowed: Allowed) -> set[Pair]:
    """The pairs of values of two parameters that are possible together."""
    found = set()
    for (first, values), (second, others) in itertools.combinations(parameters.items(), 2):
        for value, other in itertools.product(values, others):
            if allowed({first: value, second: other}):
                found.add(((first, value), (second, other)))
    return found


def pairs_of(row: Row) -> Iterator[Pair]:
    """The pairs of a row."""
    return itertools.combinations(row.items(), 2)


def covering_rows(parameters: Mapping[str, Sequence[Any]], allowed: Allowed, count: int) -> list[Row]:
    """Rows that cover all pairs, followed by random rows up to `count`; the same ones each time.

    Raises ValueError if no row has some pair, which `allowed` does not exclude.
    """
    random = random_numbers.Random(0)
    missing = dict.fromkeys(sorted(all_pairs(parameters, allowed), key=repr))
    rows = []
    while missing:
        row = _row_with(next(iter(missing)), parameters, allowed, missing, random)
        rows.append(row)
        for pair in pairs_of(row):
            missing.pop(pair, None)
    while len(rows) < count:
        row = _completed({}, parameters, allowed, {}, random)
        if row is not None and row not in rows:
            rows.append(row)
    return rows


_ATTEMPTS = 100


def _row_with(
    pair: Pair, parameters: Mapping[str, Sequence[Any]], allowed: Allowed, missing: Mapping[Pair, None],
    random: random_numbers.Random,
) -> Row:  # fmt: skip
    for _ in range(_ATTEMPTS):
        row = _completed(dict(pair), parameters, allowed, missing, random)
        if row is not None:
            return row
    raise ValueError(f"no row found with {pair}")


def _completed(
    given: Row, parameters: Mapping[str, Sequence[Any]], allowed: Allowed, missing: Mapping[Pair, None],
    random: random_numbers.Random,
) -> Row | None:  # fmt: skip
    """A row with the given values, whose others are chosen to cover many missing pairs, or None in a dead end."""
    order = {name: index for index, name in enumerate(parameters)}
    row = dict(given)
    for name in random.sample(list(parameters), len(parameters)):
        if name in given:
            continue

        def gain(value: Any, name: str = name) -> float:
            own = (name, value)
            pairs = ((own, other) if order[name] < order[other[0]] else (other, own) for other in row.items())
            return sum(pair in missing for pair in pairs) + random.random()

        values = [value for value in parameters[name] if allowed({**row, name: value})]
        if not values:
            return None
        row[name] = max(values, key=gain)
    return {name: row[name] for name in parameters}
