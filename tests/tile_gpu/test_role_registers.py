"""Register budgets by hand: 65536 registers are 168 for each of 384 threads, 504 for a thread of each warpgroup."""

from __future__ import annotations

import pytest

from tilec.lowering.role_registers import chosen_budgets


@pytest.mark.parametrize(
    ("computing", "loading", "budgets"),
    [
        # An equal share is enough, with a margin of 8.
        (160, 30, None),
        (161, 30, [232, 32]),
        # (504 - 32) / 2 = 236, of which 232 is a multiple of 8.
        (230, 30, [232, 32]),
        # (504 - 24) / 2
        (233, 30, [240, 24]),
        (300, 32, [240, 24]),
        # A role that needs more than 32 registers has what it needs.
        (300, 33, [232, 40]),
    ],
)
def test_two_warpgroups_that_compute_and_one_warp_that_loads(computing: int, loading: int, budgets) -> None:
    assert chosen_budgets([8, 1], [computing, loading]) == budgets


def test_registers_that_no_role_needs_raise_those_at_launch() -> None:
    """Of 504, roles need 256, 96 and 32; the other 120 raise the last to 152, and the average to 168."""
    assert chosen_budgets([4, 4, 2], [300, 90, 30]) == [256, 96, 152]
