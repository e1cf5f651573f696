"""Charts of schedules: one row per role and per unit, over one interval."""

from __future__ import annotations

from xml.etree import ElementTree

from expert_bodies import BODIES
from small_problems import load_and_multiply

from tilec.lowering.schedule.bound import Bound
from tilec.lowering.schedule.chart import drawing, role_names, summary, text_chart
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.store import Answer, How, Store


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
    schedule = solve(problem, Store()).schedule
    assert role_names(problem, schedule) == ("load", "mma", "compute0", "correction", "compute1")


def test_drawing_has_a_row_per_role_and_unit() -> None:
    problem = BODIES["attention-two-tiles"][0]()
    answer = solve(problem, Store())
    root = ElementTree.fromstring(drawing(problem, answer))
    space = "{http://www.w3.org/2000/svg}"
    labels = [text.text for text in root.findall(f"{space}text")]
    assert labels[0] == (
        "attention-two-tiles: interval 2864 clocks (exact, stored); bound 2864: "
        "recurrence pv1_0 -> qk1 -> read1 -> maximum1 -> exp1_0 -> pv1_0"
    )
    assert labels[1:6] == [
        "load, 1 warp",
        "mma, 1 warp",
        "compute0, 4 warps",
        "correction, 4 warps",
        "compute1, 4 warps",
    ]
    titles = {title.text for title in root.iter(f"{space}title")}
    assert titles == {operation.name for operation in problem.operations}
