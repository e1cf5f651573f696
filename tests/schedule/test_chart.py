"""Charts of schedules: one row per role and per unit, over one interval."""

from __future__ import annotations

from expert_answers import ExpertAnswers
from expert_bodies import BODIES
from small_problems import load_and_multiply

from tilec.lowering.schedule.bound import Bound
from tilec.lowering.schedule.chart import role_names, summary, text_chart
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.store import Answer, How


def test_text_chart() -> None:
    """80 columns for 80 clocks: the multiply of the iteration before starts at clock 20."""
    assert text_chart(load_and_multiply(), Schedule(80, (0, 100), (0, 1), (2,))) == (
        "one column is 1.0 clocks\n"
        f"load, 1 warp |{'a' * 4}{'.' * 76}|\n"
        f"mma, 1 warp  |{'.' * 20}{'b' * 8}{'.' * 52}|\n"
        f"tma 25 %     |{'a' * 20}{'.' * 60}|\n"
        f"tc 50 %      |{'.' * 20}{'b' * 40}{'.' * 20}|\n"
        "a load      load  clock     0  stage 0\n"
        "b multiply  mma   clock    20  stage 1\n"
        "a: 2 slots of shared memory, 1000 each\n"
    )


def test_operation_that_continues_in_the_next_interval() -> None:
    chart = text_chart(load_and_multiply(), Schedule(80, (0, 130), (0, 1), (3,)))
    assert f"tc 50 %      |{'b' * 10}{'.' * 40}{'b' * 30}|" in chart


def test_summary() -> None:
    schedule = Schedule(44, (0, 100), (0, 1), (4,))
    bound = Bound(40, "unit tc")
    assert summary(Answer(schedule, bound, How.LIST, False)) == "interval 44 clocks (list); bound 40: unit tc"
    assert summary(Answer(schedule, bound, How.EXACT, True, is_stored=True)) == (
        "interval 44 clocks, proven to be the least for these roles (exact, stored); bound 40: unit tc"
    )


def test_names_of_roles() -> None:
    problem = BODIES["attention-two-tiles"][0]()
    schedule = solve(problem, ExpertAnswers()).schedule
    assert role_names(problem, schedule) == ("load", "mma", "compute0", "correction", "compute1")
