"""The ladder: the cheapest means that suffices; every fault of the solver gives the list schedule with a remark."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from expert_answers import ExpertAnswers
from expert_bodies import BODIES
from small_problems import load_and_multiply

from tilec.lowering.schedule.exact import Budget, Found, SolverError, solve_model
from tilec.lowering.schedule.ladder import deepened, solve
from tilec.lowering.schedule.parts import Kind, Limits, Memory, Operation, ProblemError
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.store import How
from tilec.lowering.schedule.verify import verify


def attention() -> Problem:
    """A body whose list schedule is above the bound."""
    return BODIES["attention-one-tile"][0]()


def never(problem: Problem, roles: tuple[int, ...] | None, upper: int | None, budget: Budget) -> Found | None:
    raise AssertionError("the solver is called")


def test_list_schedule_at_the_bound_needs_no_solver() -> None:
    answer = solve(load_and_multiply(), searched=never)
    assert (answer.how, answer.is_proven, answer.remarks) == (How.LIST, True, ())
    assert answer.schedule.interval == answer.bound.interval == 40


def test_code_at_the_bound_needs_no_other_schedule() -> None:
    found = solve(load_and_multiply()).schedule
    answer = solve(load_and_multiply(), searched=never, present=found)
    assert (answer.how, answer.is_proven, answer.schedule) == (How.PRESENT, True, found)


def test_code_that_is_faster_than_the_list_schedule_is_the_answer_without_a_solver() -> None:
    """Two warpgroups with the documented order of their multiplies: 2152 clocks, above the bound of 2048."""
    problem = BODIES["attention-hopper-2x64-serial"][0]()
    stored = ExpertAnswers().find(problem)
    assert stored is not None and stored.schedule.interval == 2152
    answer = solve(problem, searched=unavailable, present=stored.schedule)
    assert (answer.how, answer.is_proven, answer.schedule) == (How.PRESENT, False, stored.schedule)
    assert solve(problem, searched=unavailable).schedule.interval > 2152


def test_code_whose_iterations_differ_is_no_schedule() -> None:
    problem = load_and_multiply()
    wrong = Schedule(8, (0,) * len(problem.operations), (0, 1), (1,) * len(problem.buffers))
    answer = solve(problem, searched=never, present=wrong)
    assert (answer.how, answer.remarks) == (How.LIST, ())


def test_solver_is_not_imported_if_the_list_schedule_is_at_the_bound() -> None:
    code = (
        "import sys\n"
        "from tilec.lowering.schedule.ladder import solve\n"
        "from tilec.lowering.schedule.parts import *\n"
        "from tilec.lowering.schedule.problem import Problem\n"
        "solve(Problem('p', (Operation('a', Kind.TILE, 8, (Use('x', 40),)),)))\n"
        "assert 'ortools' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def unavailable(*_: object) -> Found | None:
    raise SolverError("the exact scheduler needs the extra 'schedule'")


def out_of_time(*_: object) -> Found | None:
    return None


def illegal(problem: Problem, *_: object) -> Found | None:
    zeros = (0,) * len(problem.operations)
    return Found(Schedule(8, zeros, zeros, (1,) * len(problem.buffers)), is_proven=True)


FAULTS = {
    unavailable: "the exact scheduler needs the extra 'schedule'",
    out_of_time: None,
    illegal: "the exact scheduler gave an illegal schedule: ",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_the_solver_gives_the_list_schedule(fault: object) -> None:
    answer = solve(attention(), searched=fault)  # type: ignore[arg-type]
    assert (answer.how, answer.is_proven) == (How.LIST, False)
    assert verify(attention(), answer.schedule) == []
    remark = FAULTS[fault]  # type: ignore[index]
    assert remark is None or answer.remarks[0].startswith(remark)
    assert answer.remarks[-1] == (
        f"the list schedule has an interval of {answer.schedule.interval} clocks, the bound is 1440"
    )


def test_solver_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    remark = solve(attention()).remarks[0]
    assert remark.startswith("the exact scheduler needs the extra 'schedule': import of ortools.sat.python halted")


def test_solver_that_fails_with_and_without_presolve_is_a_fault() -> None:
    class Failing:
        parameters = SimpleNamespace()

        def solve(self, _model: object) -> None:
            raise RuntimeError(f"presolve={self.parameters.cp_model_presolve}")

    with pytest.raises(SolverError, match=r"^the solver failed: presolve=False$"):
        solve_model(Failing(), None)


def test_roles_of_its_own_choice_are_taken_if_they_are_faster_by_one_percent() -> None:
    listed = solve(attention(), searched=unavailable).schedule

    def found(rule: int, free: int) -> How:
        def searched(problem: Problem, roles: tuple[int, ...] | None, *_: object) -> Found:
            # The list schedule with a longer interval is legal too: nothing is closer than before.
            interval = 4 * listed.interval + 4 * (free if roles is None else rule)
            start = tuple(clock % listed.interval + clock // listed.interval * interval for clock in listed.start)
            depth = listed.depth if roles is not None else listed.depth
            return Found(Schedule(interval, start, listed.role, depth), is_proven=True)

        return solve(attention(), searched=searched).how

    assert found(rule=100, free=90) == How.EXACT
    assert found(rule=100, free=0) == How.JOINT


def test_streams_have_one_more_slot_if_memory_allows() -> None:
    problem = load_and_multiply()
    schedule = Schedule(56, (0, 100), (0, 1), (3,))
    assert deepened(problem, schedule).depth == (4,)
    full = replace(problem, limits=Limits((Memory("shared", 3000),)))
    assert deepened(full, schedule).depth == (3,)


def test_roles_that_the_user_wrote_are_kept() -> None:
    operations = tuple(Operation(name, Kind.TILE, 40, warps=4, role=role) for name, role in (("a", "x"), ("b", "x")))
    assert solve(Problem("p", operations), searched=never).schedule.role == (0, 0)


def test_problem_without_schedule_is_refused() -> None:
    operations = tuple(Operation(name, Kind.TILE, 40, warps=12) for name in "ab")
    problem = Problem("p", operations, limits=Limits(warps=8))
    with pytest.raises(ProblemError, match="no schedule of 'p' was found: .*24 warps|the roles have 12 warps"):
        solve(problem, searched=out_of_time)


def test_times_that_are_not_multiples_of_the_quantum_are_rounded_up() -> None:
    problem = Problem("p", (Operation("a", Kind.TILE, 41, warps=4), Operation("b", Kind.TILE, 42, warps=4)))
    assert [operation.duration for operation in quantized(problem).operations] == [44, 44]
    assert solve(problem, searched=never).schedule.interval == 44
