"""A pass that asks for an order which breaks a rule of schedules costs speed only: the loop keeps its order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compare
import pytest
import test_followed_schedules
import test_shared_operands
from compare import assert_within, run_everywhere

from tilec.lowering.gpu.schedule import (
    advance_multiplies,
    delay_multiplies,
    follow_schedule,
    issue_early,
    legal_schedules,
)


def backwards(order: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the operations of another one in the opposite order."""
    return lambda *args: list(order(*args))[::-1]


ATTENTION, LINEAR, GRADIENT = "attention, 64 columns", "linear attention", "gradient"
# By heuristic, the function that returns its order, and a kernel with a loop that the heuristic arranges.
ORDERS = {
    "advance-multiplies": (advance_multiplies._Rotation, "order", ATTENTION, "sm_100a"),
    "issue-early": (issue_early, "_issued", GRADIENT, "sm_90a"),
    "delay-multiplies": (delay_multiplies, "_order", ATTENTION, "sm_90a"),
    "follow-schedule": (follow_schedule, "order_of", LINEAR, "sm_100a"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_loop_keeps_its_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, function, case, target = ORDERS[name]
    refused = []
    check = legal_schedules.schedule_error

    def noted(*args: Any) -> Any:
        found = check(*args)
        refused.append(found is not None)
        return found

    monkeypatch.setattr(legal_schedules, "schedule_error", noted)
    monkeypatch.setattr(owner, function, backwards(getattr(owner, function)))
    compare._compiled.cache_clear()
    kernel, grid, output, args, expected, magnitudes = test_followed_schedules.CASES[case](3)
    for (found,) in run_everywhere(kernel, grid, args, (output,), target=target, hints={}):
        assert_within(found, expected, test_shared_operands.RELATIVE * magnitudes + 1e-5)
    compare._compiled.cache_clear()
    assert any(refused)
