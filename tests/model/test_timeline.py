"""Intervals of small loops, worked by hand."""

from __future__ import annotations

import pytest

from tilec.lowering.model.timeline import (
    AwaitMultiplies,
    Busy,
    Load,
    Multiply,
    Side,
    Signal,
    Wait,
    interval_cycles,
    least_cycles,
)

LOAD = [Wait("ring", Side.EMPTY), Load("ring", 900, 100), Signal("ring", Side.FULL)]
MULTIPLY = [Wait("ring", Side.FULL), Multiply(200, 50), Signal("ring", Side.EMPTY, after_multiplies=True)]


# Load 100 + 900, signal 10, multiply 200 + 50, signal 10: 1270 cycles per slot, but 200 cycles of the tensor pipe.
@pytest.mark.parametrize(("stages", "interval"), [(1, 1270), (2, 635), (5, 254), (7, 200), (16, 200), (32, 200)])
def test_ring_hides_the_latency(stages: int, interval: float) -> None:
    assert interval_cycles([LOAD, MULTIPLY], {"ring": stages}, {}, 10) == pytest.approx(interval, rel=0.02)


@pytest.mark.parametrize("busy", [0, 150, 400])
def test_no_ring_is_deep_enough_for_less_than_the_work_of_a_role(busy: float) -> None:
    roles = [LOAD, [*MULTIPLY, Busy(busy)]]
    found = [interval_cycles(roles, {"ring": stages}, {}, 10) for stages in (1, 2, 7, 32)]
    assert found[0] > found[1] > least_cycles(roles) == pytest.approx(found[-1]) == max(200, busy)


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


def test_slot_is_empty_after_its_last_consumer() -> None:
    """The first consumer releases at once, the second one 400 cycles later: 100 + 900 + 10 + 400 + 10 per slot."""
    first = [Wait("ring", Side.FULL), Signal("ring", Side.EMPTY)]
    second = [Wait("ring", Side.FULL, 1), Busy(400), Signal("ring", Side.EMPTY, consumer=1)]
    assert interval_cycles([LOAD, first, second], {"ring": 1}, {}, 10) == pytest.approx(1420, rel=0.01)
    assert interval_cycles([LOAD, first], {"ring": 1}, {}, 10) == pytest.approx(1020, rel=0.01)


@pytest.mark.parametrize(("stages", "interval"), [(2, 1420), (3, 710)])
def test_consumer_that_is_ahead_waits_for_the_next_slot(stages: int, interval: float) -> None:
    """A role that reads tile i + 1 before it releases tile i needs another slot: of two it has one at a time."""
    ahead = [Wait("ring", Side.FULL, 1), Signal("ring", Side.EMPTY, consumer=1)]
    late = [Wait("ring", Side.FULL), Busy(400), Signal("ring", Side.EMPTY)]
    found = interval_cycles([LOAD, [*ahead, *late]], {"ring": stages}, {}, 10, {("ring", 1): 1})
    assert found == pytest.approx(interval, rel=0.01)


def test_slots_that_are_used_before_the_loop_are_empty_again() -> None:
    """The consumer has used the first tile, so that the second one is on its way when the loop starts."""
    taken = {("ring", 0): 1}
    assert interval_cycles([LOAD, MULTIPLY], {"ring": 2}, {}, 10, taken) == pytest.approx(635, rel=0.02)


def test_tensor_core_serves_roles_in_the_order_of_their_requests() -> None:
    """A role multiplies for 100 cycles before it waits for a slot; it does not hold up the producer of the slot.

    The producer needs 10 cycles, 100 for its multiply, 20 for the latency and 200 for its work: 330 per slot.
    """
    work = [Busy(10), Multiply(100, 20), AwaitMultiplies(), Busy(200)]
    producer = [Wait("ring", Side.EMPTY), *work, Signal("ring", Side.FULL)]
    consumer = [Multiply(100, 20), AwaitMultiplies(), Wait("ring", Side.FULL), Busy(100), Signal("ring", Side.EMPTY)]
    for roles in ([producer, consumer], [consumer, producer]):
        assert interval_cycles(roles, {"ring": 2}, {}, 10) == pytest.approx(330, rel=0.01)


def test_role_awaits_its_own_multiplies() -> None:
    """One role awaits 50 + 20 cycles, while multiplies of the other one take 1,000 beyond their interval."""
    awaiting = [Wait("ring", Side.EMPTY), Multiply(50, 20), AwaitMultiplies(), Busy(130), Signal("ring", Side.FULL)]
    issuing = [Wait("ring", Side.FULL), Multiply(50, 1000), Signal("ring", Side.EMPTY, after_multiplies=True)]
    for roles in ([awaiting, issuing], [issuing, awaiting]):
        assert interval_cycles(roles, {"ring": 8}, {}, 10) == pytest.approx(200, rel=0.01)
