"""Stored answers: those to documented bodies, or in a folder; each is verified when it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from expert_answers import FOLDER, ExpertAnswers, entry_file
from expert_bodies import BODIES, attention_blackwell
from small_problems import load_and_multiply

from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.exact import Budget, Found
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.parts import Kind
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import Schedule, warps_of_roles
from tilec.lowering.schedule.store import Answer, How, Store, read_entry, write_entry
from tilec.lowering.schedule.verify import verify


def never(problem: Problem, roles: tuple[int, ...] | None, upper: int | None, budget: Budget) -> Found | None:
    raise AssertionError("the solver is called")


@pytest.mark.parametrize("name", BODIES)
def test_documented_interval_needs_no_solver(name: str) -> None:
    body, interval = BODIES[name]
    problem = body()
    answer = solve(problem, ExpertAnswers(), searched=never)
    assert verify(problem, answer.schedule) == []
    assert (answer.schedule.interval, answer.is_proven) == (interval, True)
    assert answer.bound == bound(quantized(problem))


def test_every_entry_is_of_a_documented_body() -> None:
    assert set(FOLDER.iterdir()) <= {entry_file(body()) for body, _ in BODIES.values()}


def answer() -> Answer:
    problem = load_and_multiply()
    return Answer(Schedule(40, (0, 100), (0, 1), (4,)), bound(problem), How.EXACT, True)


def test_text_of_an_entry() -> None:
    text = write_entry(load_and_multiply(), answer())
    assert text == (
        '{"how": "exact", "is_proven": true, "bound": 40, '
        '"interval": 40, "start": [0, 100], "role": [0, 1], "depth": [4]}\n'
        "problem loop\n"
        "limits roles=6 warps=16 registers=65536 thread_registers=255 base_registers=40 producer_registers=24\n"
        "memory shared capacity=4000\n"
        "operation o0 stream duration=4 warps=1 uses=tma:20\n"
        "operation o1 issue duration=8 warps=1 uses=tc:40\n"
        "edge o0 o1 latency=80 cross=20\n"
        "buffer b0 source=o0 memory=shared size=1000 uses=o1:60\n"
    )
    read = read_entry(load_and_multiply(), text)
    assert read is not None
    assert (read.schedule, read.how, read.is_proven, read.is_stored) == (answer().schedule, How.EXACT, True, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[0, 100]", "[0, 96]"),
        ("[0, 100]", "[0]"),
        ("[0, 100]", "[0, null]"),
        ("[4]", "[3]"),
        ("[4]", "4"),
        ("latency=80", "latency=84"),
        ("exact", "guess"),
        ("true", "x"),
        ('"interval": 40, ', ""),
    ],
)
def test_entry_that_is_damaged_or_illegal_is_not_used(old: str, new: str) -> None:
    text = write_entry(load_and_multiply(), answer())
    assert old in text
    assert read_entry(load_and_multiply(), text.replace(old, new)) is None


def test_answers_are_found_in_the_folder_under_any_names(tmp_path: Path) -> None:
    problem = load_and_multiply()
    store = Store(str(tmp_path / "schedules"))
    assert store.find(problem) is None
    store.add(problem, answer())
    found = store.find(problem)
    assert found is not None and found.schedule == answer().schedule
    operations = tuple(replace(operation, name=operation.name.upper()) for operation in problem.operations)
    edges = tuple(replace(edge, source=edge.source.upper(), target=edge.target.upper()) for edge in problem.edges)
    uses = tuple(replace(use, operation=use.operation.upper()) for use in problem.buffers[0].uses)
    buffers = (replace(problem.buffers[0], name="x", source="LOAD", uses=uses),)
    renamed = replace(problem, name="other", operations=operations, edges=edges, buffers=buffers)
    assert store.find(renamed) == found
    # An answer belongs to a budget, and to all numbers of the problem.
    assert replace(store, budget=Budget(probe=1.0)).find(problem) is None
    assert store.find(replace(problem, edges=(replace(problem.edges[0], latency=84),))) is None


def test_damaged_file_is_not_used(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "schedules"))
    store.add(load_and_multiply(), answer())
    (path,) = (tmp_path / "schedules").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert store.find(load_and_multiply()) is None


def test_folder_that_cannot_be_written_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(str(tmp_path / "file" / "schedules"))
    store.add(load_and_multiply(), answer())
    assert store.find(load_and_multiply()) is None


# The stored schedules of documented loop bodies have the properties of the published kernels.


def solved(name: str) -> tuple[Problem, Schedule]:
    problem = BODIES[name][0]()
    return problem, solve(problem, ExpertAnswers(), searched=never).schedule


@pytest.mark.parametrize("name", ["gemm-pair", "gemm-128x256"])
def test_gemm_has_a_load_role_and_rings_one_slot_deeper_than_the_latency(name: str) -> None:
    problem, schedule = solved(name)
    assert schedule.role == (0, 0, 1)
    for buffer, depth in zip(problem.buffers, schedule.depth, strict=True):
        life = schedule.start[2] + buffer.uses[0].completion - schedule.start[problem.index[buffer.source]]
        assert depth == -(-life // schedule.interval) + 1


def test_persistent_gemm_has_two_accumulators() -> None:
    problem, schedule = solved("gemm-tiles")
    assert schedule.depth[0] == 2
    assert schedule.role[problem.index["read0"]] != schedule.role[problem.index["mma"]]


def test_two_warpgroups_alternate_on_the_tensor_cores() -> None:
    """FlashAttention-3: a role per warpgroup, with all operations of its tile."""
    problem, schedule = solved("attention-hopper-2x64")
    role = {operation.name: number for operation, number in zip(problem.operations, schedule.role, strict=True)}
    names = ("qk", "maximum", "exp", "sum", "rescale", "pv")
    for group in range(2):
        assert len({role[f"{name}{group}"] for name in names}) == 1
    assert len({role["load_k"], role["qk0"], role["qk1"]}) == 3
    assert sum(warps_of_roles(problem, schedule.role)) == 9
    exps = [schedule.start[problem.index[f"exp{group}"]] % 2048 for group in range(2)]
    # The exponentials of the two never share MUFU.
    assert 512 <= (exps[1] - exps[0]) % 2048 <= 2048 - 512


def test_two_tiles_alternate_and_weights_lie_over_scores() -> None:
    """FlashAttention-4: a role for mma, one per softmax, and the weights in the columns of the scores."""
    problem, schedule = solved("attention-two-tiles")
    role = {operation.name: number for operation, number in zip(problem.operations, schedule.role, strict=True)}
    assert role["qk0"] == role["qk1"] == role["pv0_0"] == role["pv1_0"]
    assert len({role["load_k"], role["qk0"], role["read0"], role["read1"]}) == 4
    depths = zip(problem.buffers, schedule.depth, strict=True)
    assert {buffer.name for buffer, depth in depths if not depth} == {"weights0", "weights1"}
    clock = {name: schedule.start[number] % 2864 for name, number in problem.index.items()}
    order = sorted(("qk0", "qk1", "pv0_0", "pv1_0"), key=lambda name: clock[name])
    first = order.index("qk0")
    assert order[first:] + order[:first] in (["qk0", "pv1_0", "qk1", "pv0_0"], ["qk0", "qk1", "pv0_0", "pv1_0"])
    exps = [clock["exp0_0"], clock["exp1_0"]]
    assert 1024 <= (exps[1] - exps[0]) % 2864 <= 2864 - 1024


def test_each_trick_of_flash_attention_4_is_faster() -> None:
    names = ("attention-two-tiles", "attention-emulated", "attention-parts", "attention-both")
    assert [solved(name)[1].interval for name in names] == [2864, 2608, 2552, 2296]


def test_mma_would_move_into_softmax_without_classes() -> None:
    """Without roles of their own, the multiplies need no way through a barrier, and the bound falls."""
    problem = attention_blackwell("two-tiles", 2)
    mixed = tuple(
        replace(operation, kind=Kind.TILE) if operation.kind == Kind.ISSUE else operation
        for operation in problem.operations
    )
    assert bound(quantized(replace(problem, operations=mixed))).interval < bound(quantized(problem)).interval
