"""Intervals of small loops, worked by hand."""

from __future__ import annotations

import pytest

from tilec.lowering.model.timeline import AwaitMultiplies, Busy, Load, Multiply, Side, Signal, Wait, interval_cycles

LOAD = [Wait("ring", Side.EMPTY), Load("ring", 900, 100), Signal("ring", Side.FULL)]
MULTIPLY = [Wait("ring", Side.FULL), Multiply(200, 50), Signal("ring", Side.EMPTY, after_multiplies=True)]


# Load 100 + 900, signal 10, multiply 200 + 50, signal 10: 1270 cycles per slot, but 200 cycles of the tensor pipe.
@pytest.mark.parametrize(("stages", "interval"), [(1, 1270), (2, 635), (5, 254), (7, 200), (16, 200), (32, 200)])
def test_ring_hides_the_latency(stages: int, interval: float) -> None:
    assert interval_cycles([LOAD, MULTIPLY], {"ring": stages}, {}, 10) == pytest.approx(interval, rel=0.02)


def test_loads_share_a_port() -> None:
    slow = [Wait("ring", Side.EMPTY), Load("ring", 900, 300), Signal("ring", Side.FULL)]
    assert interval_cycles([slow, MULTIPLY], {"ring": 16}, {}, 10) == 300


def test_role_executes_its_actions_in_order() -> None:
    assert interval_cycles([[Busy(3), Multiply(100, 20), AwaitMultiplies(), Busy(7)]], {}, {}, 10) == 130


def test_role_loads_ahead_for_itself() -> None:
    # Each of three slots takes 1000 cycles to load and 250 to multiply, and two are full at the start.
    actions = [*LOAD, MULTIPLY[0], MULTIPLY[1], AwaitMultiplies(), Signal("ring", Side.EMPTY)]
    assert interval_cycles([actions], {"ring": 3}, {"ring": 2}, 0) == pytest.approx(1250 / 3, rel=0.01)


def test_consumers_count_their_slots() -> None:
    second = [Wait("ring", Side.FULL, 1), Busy(20)]
    assert interval_cycles([LOAD, [*second, *MULTIPLY]], {"ring": 16}, {}, 10) == interval_cycles(
        [LOAD, MULTIPLY], {"ring": 16}, {}, 10
    )


def test_roles_that_wait_for_each_other_for_ever_have_no_interval() -> None:
    first = [Wait("a", Side.FULL), Signal("b", Side.FULL)]
    second = [Wait("b", Side.FULL), Signal("a", Side.FULL)]
    assert interval_cycles([first, second], {"a": 1, "b": 1}, {}, 10) is None
