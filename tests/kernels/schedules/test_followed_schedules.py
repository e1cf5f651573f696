"""Loops that follow a schedule have the results of numpy, also where no rule has arranged them before.

Without the rules (the heuristics that arrange multiplies), a schedule has to find what they do: scores that run ahead.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import compare
import numpy as np
import pytest
import test_late_sums
import test_shared_operands
from compare import assert_within, run_everywhere
from sheet_kernels import kernels_of

import tilec
import tilec as ct
from tilec.explain.reports import reports_of
from tilec.lowering.gpu.schedule import follow_schedule
from tilec.lowering.gpu.schedule.follow_schedule import _Loop
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem
from tilec.lowering.gpu.schedule.present_interval import SteadyState, role_numbers
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS
from tilec.lowering.gpu.schedule.schedule_report import LoopReport, schedule_reports
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.target import TARGETS
from tilec.lowering.tile_to_gpu import tile_stage
from tilec.signature import Signature

Const = ct.Constant[int]
RULES = ("advance-multiplies", "issue-early", "delay-multiplies", "advance-first-multiplies", "advance-late-sums")
FOLLOW = "follow-schedule"


def leave_out(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.setitem(HEURISTICS, name, replace(HEURISTICS[name], run=lambda *_: None))


@pytest.fixture
def no_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The compiler without the heuristics that arrange multiplies by rules."""
    leave_out(monkeypatch, *RULES)
    compare._compiled.cache_clear()
    yield
    compare._compiled.cache_clear()


def reports(kernel: Any, args: tuple[Any, ...], target: str, **hints: Any) -> list[LoopReport]:
    signature = Signature.from_arguments(kernel, args)
    compiled = ct.compile(kernel, target=target, signature=signature, hints=hints, stop="gpu")
    return schedule_reports(compiled.stage("gpu").value, target)


def interval(kernel: Any, args: tuple[Any, ...], target: str, **hints: Any) -> int:
    """The clocks of an iteration of the only loop."""
    (report,) = reports(kernel, args, target, **hints)
    assert report.attained is not None
    return report.attained


def linear(blocks: int) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray]:
    """The arguments of linear_attention, its result in float64, and the sums of the magnitudes in it."""
    Q, K, V = test_shared_operands.matrices(np.random.default_rng(blocks), *[(blocks * 128, 64)] * 3)
    q, k, v = (each.astype(np.float64) for each in (Q, K, V))
    block = np.arange(blocks * 128) // 128
    seen = block[:, None] >= block[None, :]
    magnitudes = (np.abs(q) @ np.abs(k).T * seen) @ np.abs(v)
    return (Q, K, V, np.zeros_like(Q), 128, 64), (q @ k.T * seen) @ v, magnitudes


def gradient(blocks: int, width: int) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray]:
    """The arguments of gradient_of_queries, its result in float64, and the sums of the magnitudes in it."""
    given, _, ds, (_, k, _) = test_shared_operands.gradients(blocks, 128, 64, width)
    return (*given, np.zeros_like(given[0]), 128, 64, width), ds @ k, np.abs(ds) @ np.abs(k)


# ---- what a schedule finds


@pytest.mark.parametrize("width", [64, 128])
def test_scores_run_ahead_without_rules(width: int, no_rules: None) -> None:
    """Attention on sm_100a: 1249 and 1392 clocks, 1249 and 1344 with the rules, 2081 and 2688 in program order."""
    args, _, _ = test_late_sums.arguments(np.random.default_rng(1), 1, keys=128, width=width)
    found = interval(test_late_sums.attention, args, "sm_100a")
    assert found <= 1.05 * interval_with(WITH_RULES, args)
    assert found < 0.7 * interval_with({FOLLOW: replace(HEURISTICS[FOLLOW], run=lambda *_: None)}, args)


def interval_with(entries: Mapping[str, Any], args: tuple[Any, ...]) -> int:
    """The clocks of an iteration of attention with other entries of the table of heuristics."""
    with pytest.MonkeyPatch.context() as patch:
        for name, entry in entries.items():
            patch.setitem(HEURISTICS, name, entry)
        return interval(test_late_sums.attention, args, "sm_100a")


WITH_RULES = {name: HEURISTICS[name] for name in RULES}


def test_slots_of_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are used twice, values once: three slots and one are better than two each, which 2384 clocks show.

    With halves of the tiles, memory has more slots.
    """
    monkeypatch.setattr(tile_stage, "has_halves", lambda *_: False)
    given, *_ = test_shared_operands.gradients(1, 128, 128, 128)
    args = (*given, given[0], 128, 128, 128)
    kernel = test_shared_operands.gradient_of_queries
    (report,) = reports(kernel, args, "sm_100a")
    assert report.attained == report.answer.bound.interval
    loads = [each.source.startswith("tma_load") for each in report.loop.problem.buffers]
    slots = [count for count, is_load in zip(report.loop.slots, loads, strict=True) if is_load]
    assert sorted(slots) == [1, 3]
    leave_out(monkeypatch, FOLLOW)
    assert interval(kernel, args, "sm_100a") > 1.2 * report.attained


@pytest.mark.parametrize(("kernel", "keys"), [("gradient_of_queries", 64), ("gradients_of_keys", 128)])
def test_cost_model_has_the_interval_of_the_schedule(kernel: str, keys: int) -> None:
    """Roles wait for a place just before its use; with waits as early as possible, gradients of keys take 4636 cycles.

    The cost model also has loads from DRAM, and units that disturb each other. Gradients of queries have a ring of one
    slot with 128 keys, which waits for DRAM in each iteration.
    """
    given, *_ = test_shared_operands.gradients(1, 128, 128, 128)
    results = (given[0],) if kernel == "gradient_of_queries" else (given[1], given[2])
    args = (*given, *results, 128, keys, 128)
    function = getattr(test_shared_operands, kernel)
    compiled = ct.compile(function, target="sm_100a", signature=Signature.from_arguments(function, args), stop="gpu")
    (cost,) = reports_of(compiled, "cost")
    (scheduled,) = schedule_reports(compiled.stage("gpu").value, "sm_100a")
    (cycles,) = (loop["cycles"] for loop in cost.fields()["loops"] if loop["depth"] >= 0)
    assert scheduled.attained <= cycles < 1.2 * scheduled.attained


def test_threads_execute_a_load_and_a_conversion_an_iteration_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear attention: the scores of the next block are converted before the results of this one are stored."""
    args, *_ = linear(1)
    (report,) = reports(test_shared_operands.linear_attention, args, "sm_100a")
    operations = zip(report.loop.problem.operations, report.loop.roles, report.loop.ahead, strict=True)
    ahead = [each.name.partition("@")[0] for each, role, count in operations if role == "compute" and count]
    assert ahead == ["load_tensor_memory", "truncf"]
    leave_out(monkeypatch, FOLLOW)
    assert interval(test_shared_operands.linear_attention, args, "sm_100a") > 1.15 * report.attained


def test_a_role_without_registers_for_its_new_order_keeps_its_own() -> None:
    """Linear attention with decays: the threads of the scores run an iteration ahead, those of the state do not."""
    q, rates = np.zeros((1, 2, 384, 64), np.float16), np.zeros(2, np.float32)
    args = (q, q, q, rates, q, 2, 64, 64)
    (report,) = reports(kernels_of("scans").linear_attention, args, "sm_100a")
    assert report.attained is not None and report.attained < 750
    ahead = dict.fromkeys(report.loop.roles, 0)
    for role, count in zip(report.loop.roles, report.loop.ahead, strict=True):
        ahead[role] = max(ahead[role], count)
    assert ahead["compute"] == 1 and ahead["compute1"] == 0


def test_a_shorter_interval_without_fewer_cycles_is_worth_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost model may have the loop wait for something that the interval does not know, as w4a16 on sm_100a does.

    It would have 1,389 lines of PTX in place of 952, and the same 1,025 cycles.
    """
    args, *_ = linear(1)
    code = code_of_linear_attention(args)
    monkeypatch.setattr(follow_schedule, "cycles_of_kernel", lambda *_: 1000.0)
    without_gain = code_of_linear_attention(args)
    leave_out(monkeypatch, FOLLOW)
    assert without_gain == code_of_linear_attention(args) != code


def code_of_linear_attention(args: tuple[Any, ...]) -> str:
    kernel = test_shared_operands.linear_attention
    signature = Signature.from_arguments(kernel, args)
    return ct.compile(kernel, target="sm_100a", signature=signature, stop="gpu").gpu


def test_a_schedule_with_the_memory_of_the_present_slots() -> None:
    """Where a schedule wants more slots, one whose rings have no more memory than now is a choice too."""
    args, *_ = linear(1)
    (report,) = reports(test_shared_operands.linear_attention, args, "sm_100a")
    problem = report.loop.problem
    slots = dict(zip((buffer.name for buffer in problem.buffers), report.loop.slots, strict=True))
    limited = follow_schedule._without_more_memory(report.loop).problem
    assert limited.buffers == problem.buffers
    for memory, capacity in limited.capacity.items():
        own = [buffer for buffer in problem.buffers if buffer.memory == memory]
        assert capacity == sum(buffer.size * slots[buffer.name] for buffer in own) <= problem.capacity[memory]


# ---- what stays


def test_slots_of_a_hint_are_kept() -> None:
    given, *_ = test_shared_operands.gradients(1, 128, 128, 128)
    args = (*given, given[0], 128, 128, 128)
    (report,) = reports(test_shared_operands.gradient_of_queries, args, "sm_100a", stages=2)
    assert max(report.loop.slots) <= 2


def test_loops_without_roles_stay() -> None:
    args, *_ = linear(1)
    for report in reports(test_shared_operands.linear_attention, args, "sm_100a", roles=False):
        assert not any(report.loop.ahead)


@ct.kernel
def attention_that_prints(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """Each block of keys is printed between its multiplies: nothing of the next one precedes the print."""
    q = ct.load(Q, (0, 0), (rows, width))
    result = ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        scores = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (keys, width))), ct.zeros((rows, keys), ct.float32))
        ct.printf("block %d;", j)
        result = ct.mma(scores.astype(Q.dtype), ct.load(V, (j, 0), (keys, width)), result)
    ct.store(R, (0, 0), result.astype(R.dtype))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_prints_keep_their_order(target: str, no_rules: None) -> None:
    Q, K, V = test_shared_operands.matrices(np.random.default_rng(1), (128, 64), (192, 64), (192, 64))
    args = (Q, K, V, np.zeros_like(Q), 128, 64, 64)
    signature = Signature.from_arguments(attention_that_prints, args)
    compiled = ct.compile(attention_that_prints, target=target, signature=signature)
    shown: list[str] = []
    tilec.run(compiled, (1,), args, backend="simulate", print=shown.append)
    assert "".join(shown) == "block 0;block 1;block 2;"
    q, k, v = (each.astype(np.float64) for each in (Q, K, V))
    magnitudes = np.abs(q) @ np.abs(k).T @ np.abs(v)
    assert_within(args[3], q @ k.T @ v, test_shared_operands.RELATIVE * magnitudes + 1e-5)


# ---- results

CASES = {
    "attention, 128 columns": lambda blocks: attention(blocks, 128),
    "attention, 64 columns": lambda blocks: attention(blocks, 64),
    "linear attention": lambda blocks: (test_shared_operands.linear_attention, (1,), 3, *linear(blocks)),
    "gradient": lambda blocks: (test_shared_operands.gradient_of_queries, (blocks,), 6, *gradient(blocks, 64)),
    "gradient, 128 columns": lambda blocks: (
        test_shared_operands.gradient_of_queries, (blocks,), 6, *gradient(blocks, 128),
    ),
}  # fmt: skip


def attention(blocks: int, width: int) -> tuple[Any, ...]:
    args, expected, magnitudes = test_late_sums.arguments(np.random.default_rng(blocks), blocks, 64, width)
    return test_late_sums.attention, (1,), 3, args, expected, magnitudes


# Up to three iterations are before the loop.
@pytest.mark.parametrize("blocks", [1, 2, 3, 5])
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_results_without_rules(name: str, target: str, blocks: int, no_rules: None) -> None:
    kernel, grid, output, args, expected, magnitudes = CASES[name](blocks)
    for (found,) in run_everywhere(kernel, grid, args, (output,), target=target, hints={}, seeds=range(3)):
        assert_within(found, expected, test_shared_operands.RELATIVE * magnitudes + 1e-5)


@pytest.mark.parametrize("hints", [{"stages": 1}, {"stages": 2}, {"register_budgets": False}, {"warps": 8}], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_results_without_rules_with_hints(name: str, hints: dict[str, Any], no_rules: None) -> None:
    kernel, grid, output, args, expected, magnitudes = CASES[name](3)
    for (found,) in run_everywhere(kernel, grid, args, (output,), target="sm_100a", hints=hints, seeds=range(2)):
        assert_within(found, expected, test_shared_operands.RELATIVE * magnitudes + 1e-5)


# ---- any schedule


def random_schedule(choose: random.Random, found: LoopProblem) -> Schedule:
    """A schedule with the roles of a loop that obeys nothing: starts near their place in the loop, or anywhere."""
    count, most = len(found.problem.operations), choose.choice((20, 100, 300))
    places = [100 + number * 100 // count if most < 300 else 300 for number in range(count)]
    starts = tuple(place + choose.randint(-min(most, place), most) for place in places)
    slots = tuple(max(1, count + choose.randint(-1, 1)) for count in found.slots)
    return Schedule(100, starts, role_numbers(found), slots)


@pytest.mark.covering
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_no_schedule_makes_results_wrong(
    name: str, target: str, no_rules: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of random schedules that obey no dependence, what can be followed is right; every possible schedule is taken."""
    choose = random.Random(f"{name} {target}")
    taken = []
    keep = _Loop._keep

    def noted(loop: _Loop, candidate: Any) -> None:
        taken.append(loop.number)
        keep(loop, candidate)

    monkeypatch.setattr(_Loop, "_keep", noted)
    monkeypatch.setattr(SteadyState, "is_faster_than", lambda *_: True)
    monkeypatch.setattr(SteadyState, "is_at_least", lambda *_: True)
    cycles = itertools.count(0, -1)
    monkeypatch.setattr(follow_schedule, "cycles_of_kernel", lambda *_: next(cycles))
    monkeypatch.setattr(follow_schedule, "_most_clocks", lambda _: 0)
    monkeypatch.setattr(follow_schedule, "_shorter_schedule", lambda found, *_: random_schedule(choose, found))
    monkeypatch.setattr(follow_schedule, "order_of_late_sums", lambda _: {})
    kernel, grid, output, args, expected, magnitudes = CASES[name](3)
    for seed in range(12):
        compare._compiled.cache_clear()
        runs = run_everywhere(kernel, grid, args, (output,), target=target, hints={}, seeds=[seed], interpret=False)
        for (found,) in runs:
            assert_within(found, expected, test_shared_operands.RELATIVE * magnitudes + 1e-5)
    assert taken


# ---- places that keep their order


@ct.kernel
def stored_and_multiplied(A, H, C, tiles: int):
    """Threads fill an operand, and with little memory the tiles that TMA stores are in its slots."""
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        a = ct.permute(ct.load(A, (0, 1), (64, 128)), (1, 0))
        b = (ct.load(H, (0, 0), (64, 64)).astype(ct.int32) & 3).astype(ct.int8)
        product = ct.mma(a, b, ct.zeros((128, 64), ct.int32))
        product = ct.maximum(product + ct.load(H, (2, 0), (1, 64)).astype(ct.int32), 0)
        ct.store(C, (0, t), product)
        ct.store(C, (1, t), product)


@pytest.mark.parametrize("tiles", [1, 3])
def test_slots_that_tma_stores_keep_their_order(tiles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "sm_100a", replace(TARGETS["sm_100a"], shared_bytes=30000))
    numbers = np.random.default_rng(tiles)
    A = numbers.integers(-2, 3, (64, 256)).astype(np.int8)
    H = numbers.integers(0, 8, (64, 64)).astype(np.float32)
    args = (A, H, np.zeros((256, 192), np.int32), tiles)
    signature = Signature.from_arguments(stored_and_multiplied, args)
    compiled = ct.compile(stored_and_multiplied, target="sm_100a", signature=signature, stop="ptx")
    tile = A[:, 128:].T.astype(np.int64) @ (H.astype(np.int64) & 3) + H[2].astype(np.int64)
    for seed in range(6):
        C = np.zeros_like(args[2])
        ct.run(compiled, (1,), (A, H, C, tiles), backend="simulate", seed=seed)
        np.testing.assert_array_equal(C[:, : 64 * tiles], np.tile(np.maximum(tile, 0), (2, tiles)))


@ct.kernel
def updated_between_loops(A, B, C, tiles: int):
    """Threads update sums in a loop of scores, and then in another one, whose multiplies read what they store."""
    for t in range(tiles):
        q, total = ct.load(A, (0, 0), (64, 64)), ct.zeros((64, 64), ct.float32)
        for k in range(2):
            scores = ct.mma(q, ct.load(B, (0, k), (64, 128)), ct.zeros((64, 128), ct.float32))
            scores = ct.minimum(ct.maximum(scores, -2), 2)
            largest = ct.maximum(ct.full((64, 1), -3, dtype=ct.float32), ct.max(scores, 1, keepdims=True))
            total = total * ct.exp2(-3 - largest)
            values = ct.permute(ct.load(B, (k, 0), (64, 128)), (1, 0))
            total = ct.mma(ct.exp2(scores - largest).astype(ct.float16), values, total)
        for k in range(t):
            ct.store(C, (k, t), total)
            p = ct.minimum(ct.maximum(total, -2), 2).astype(ct.float16)
            total = ct.mma(ct.load(A, (0, k), (64, 64)), p, total)
        ct.store(C, (2, t), total)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_tiles_that_are_handed_over_to_later_iterations(target: str) -> None:
    numbers = np.random.default_rng(0)
    A, B = (numbers.integers(-1, 2, shape).astype(np.float16) for shape in ((64, 128), (128, 256)))
    a, b, expected = A.astype(np.float64), B.astype(np.float64), np.zeros((192, 192))
    for t in range(3):
        total = np.zeros((64, 64))
        for k in range(2):
            scores = np.clip(a[:, :64] @ b[:64, 128 * k : 128 * k + 128], -2, 2)
            largest = np.maximum(-3, scores.max(1, keepdims=True))
            p = np.exp2(scores - largest)
            total = total * np.exp2(-3 - largest) + p @ b[64 * k : 64 * k + 64, :128].T
        for k in range(t):
            expected[64 * k : 64 * k + 64, 64 * t : 64 * t + 64] = total
            total = a[:, 64 * k : 64 * k + 64] @ np.clip(total, -2, 2).astype(np.float16).astype(np.float64) + total
        expected[128:, 64 * t : 64 * t + 64] = total
    args = (A, B, np.zeros((192, 192), np.float32), 3)
    for (found,) in run_everywhere(updated_between_loops, (1,), args, (2,), target=target, hints={}, seeds=range(3)):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
