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


@pytest.mark.parametrize("needed", [(178, 179), (170, 170), (309, 309)])
def test_two_chains_and_a_role_that_scales_accumulators(needed: tuple[int, int]) -> None:
    """Of 512, the chains have equally many: (512 - 96 - 32) / 2. ptxas 13.5 spills with 184 where 170 are needed."""
    assert chosen_budgets([4, 4, 4, 2], [*needed, 100, 32]) == [192, 192, 96, 32]


def test_needs_are_rounded_up_if_the_chains_have_a_margin() -> None:
    """The chains need 161 each, and have (512 - 104 - 32) / 2 = 188, of which 184 is a multiple of 8."""
    assert chosen_budgets([4, 4, 4, 2], [161, 161, 100, 32]) == [184, 192, 104, 32]


def test_blocks_that_leave_an_instruction_too_few_registers_at_launch() -> None:
    """Two blocks of 8 warps have 128 each at launch, though budgets raise those of the role that computes."""
    assert chosen_budgets([4, 1], [206, 32], 2) == [224, 32]
    assert chosen_budgets([4, 1], [206, 32], 2, at_launch=128) == [224, 32]
    assert chosen_budgets([4, 1], [206, 32], 2, at_launch=154) is None


def test_registers_that_no_role_needs_raise_those_at_launch() -> None:
    """Of 504, roles need 256, 96 and 32; the other 120 raise the last to 152, and the average to 168."""
    assert chosen_budgets([4, 4, 2], [300, 90, 30]) == [256, 96, 152]
