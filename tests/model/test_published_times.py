"""The model ranks the configurations of published tables, and predicts published times within a stated factor."""

from __future__ import annotations

from itertools import combinations
from math import exp, log
from statistics import mean

from published_times import ABSOLUTE, RANKED, Configuration, Table

# Configurations that differ by less are equally fast: sources state no error, and repeat within about this.
LEAST_DIFFERENCE = 0.05
# Predictions that differ by less are equal.
LEAST_PREDICTED_DIFFERENCE = 1e-3
# Required share of pairs in their published order.
LEAST_SHARE = 0.80
# The factor between a published and a predicted time, and between their geometric means over all rows.
LARGEST_FACTOR = 1.9
LARGEST_MEAN_FACTOR = 1.25


def _compared(table: Table) -> list[tuple[Configuration, Configuration]]:
    """The pairs of a table that are not equally fast, the faster one first."""
    ordered = sorted(table.configurations, key=lambda each: each.microseconds)
    return [
        (fast, slow)
        for fast, slow in combinations(ordered, 2)
        if slow.microseconds > fast.microseconds * (1 + LEAST_DIFFERENCE)
    ]


def _is_right(fast: Configuration, slow: Configuration) -> bool:
    return slow.predicted_microseconds > fast.predicted_microseconds * (1 + LEAST_PREDICTED_DIFFERENCE)


def test_pairs_of_published_configurations_are_ranked() -> None:
    right = count = 0
    for table in RANKED:
        pairs = _compared(table)
        wrong = [pair for pair in pairs if not _is_right(*pair)]
        right, count = right + len(pairs) - len(wrong), count + len(pairs)
        print(f"{len(pairs) - len(wrong):3} of {len(pairs):3}  {table.name}")
        for fast, slow in wrong:
            print(f"           '{fast.name}' is faster than '{slow.name}'")
    print(f"{right} of {count} pairs: {right / count:.1%}")
    assert right / count >= LEAST_SHARE


def test_published_times_are_predicted_within_a_factor() -> None:
    ratios = []
    for table in (*ABSOLUTE, *RANKED):
        for each in table.configurations:
            ratio = each.predicted_microseconds / each.microseconds
            ratios.append(ratio)
            print(f"{ratio:5.2f}  {each.microseconds:9.1f} us  {table.name}: {each.name}")
            assert 1 / LARGEST_FACTOR < ratio < LARGEST_FACTOR, (table.name, each.name)
    factor = exp(mean(map(log, ratios)))
    ratios.sort()
    quartiles = [ratios[len(ratios) * part // 4] for part in (1, 2, 3)]
    print(f"{len(ratios)} times: geometric mean {factor:.2f}, quartiles {quartiles}")
    assert 1 / LARGEST_MEAN_FACTOR < factor < LARGEST_MEAN_FACTOR
