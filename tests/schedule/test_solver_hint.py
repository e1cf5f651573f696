"""The hint `solver`: loops get schedules of OR-Tools, which are shorter than list schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilec
import tilec as ct
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.schedule.loop_problem import loop_problems
from tilec.lowering.gpu.schedule.present_interval import role_numbers
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS
from tilec.lowering.gpu.schedule.schedule_report import schedule_reports
from tilec.lowering.schedule.exact import Budget, search, solver_name
from tilec.lowering.schedule.problem import quantized
from tilec.lowering.target import target_named
from tilec.signature import Signature

RULES = ("advance-multiplies", "issue-early", "delay-multiplies", "advance-first-multiplies", "advance-late-sums")
Const = ct.Constant[int]


@ct.kernel
def attention(Q, K, V, R, rows: Const, keys: Const, width: Const):
    """Attention without a scale, and with exponentials of base 2."""
    q = ct.load(Q, (ct.bid(0), 0), (rows, width))
    largest, total = ct.full((rows, 1), -1e30, ct.float32), ct.zeros((rows, 1), ct.float32)
    result = ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(keys, width))):
        scores = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (keys, width))), ct.zeros((rows, keys), ct.float32))
        larger = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - larger, flush_to_zero=True)
        factor = ct.exp2(largest - larger, flush_to_zero=True)
        largest, total = larger, total * factor + ct.sum(weights, axis=1, keepdims=True)
        result = ct.mma(weights.astype(Q.dtype), ct.load(V, (j, 0), (keys, width)), result * factor)
    ct.store(R, (ct.bid(0), 0), (result / total).astype(R.dtype))


def arguments(blocks: int, width: int = 128) -> tuple[tuple[Any, ...], np.ndarray]:
    """The arguments of attention with 128 keys per block, and its result in float64."""
    random = np.random.default_rng(blocks)
    shapes = (128, width), (128 * blocks, width), (128 * blocks, width)
    Q, K, V = ((random.standard_normal(shape) / 4).astype(np.float16) for shape in shapes)
    q, k, v = (each.astype(np.float64) for each in (Q, K, V))
    weights = np.exp2(q @ k.T)
    return (Q, K, V, np.zeros_like(Q), 128, 128, width), weights @ v / weights.sum(axis=1, keepdims=True)


# The role that scales accumulators, whose schedules these are, is missing where two blocks share an SM.
ONE_BLOCK = {"occupancy": 1}


def compiled(args: tuple[Any, ...], **hints: Any) -> Any:
    signature = Signature.from_arguments(attention, args)
    return ct.compile(attention, target="sm_100a", signature=signature, hints=ONE_BLOCK | hints)


def interval(made: Any) -> int:
    (report,) = schedule_reports(made.stage("gpu").value, "sm_100a")
    assert report.attained is not None
    return report.attained


@pytest.mark.skipif(solver_name() is None, reason="needs the extra 'schedule'")
@pytest.mark.parametrize("blocks", [1, 2, 3, 5])
def test_schedule_of_the_solver(blocks: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Without the heuristics that arrange multiplies by rules, the solver finds the interval that the threads need."""
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    monkeypatch.setenv("TILEC_CACHE_SIZE", "100000000")
    for name in RULES:
        monkeypatch.setitem(HEURISTICS, name, replace(HEURISTICS[name], run=lambda *_: None))
    args, expected = arguments(blocks)
    # A list schedule has the interval that the threads need for 128 keys, but not for 64.
    args = (*args[:4], 128, 64, 128)
    listed, solved = compiled(args), compiled(args, solver=True)
    assert interval(solved) < 0.98 * interval(listed)
    # The second compile reads the answer.
    assert list((tmp_path / "schedules").rglob("*"))
    assert compiled(args, solver=True).ptx == solved.ptx
    tilec.run(solved, (1,), args, backend="simulate")
    assert np.abs(args[3].astype(np.float64) - expected).max() < 4 * 2.0**-11 * np.abs(expected).max()


@pytest.mark.skipif(solver_name() is None, reason="needs the extra 'schedule'")
@pytest.mark.parametrize(("target", "width"), [("sm_100a", 64), ("sm_100a", 256), ("sm_90a", 64)])
def test_no_schedule_with_other_roles_is_shorter(target: str, width: int) -> None:
    """The roles that passes choose by rule are those of a shortest schedule: the solver proves it."""
    args, _ = arguments(1, width)
    signature = Signature.from_arguments(attention, args)
    module = ct.compile(attention, target=target, signature=signature, hints=ONE_BLOCK, stop="gpu").stage("gpu").value
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    (loop,) = loop_problems(kernel, target_named(target))
    problem, budget = quantized(loop.problem), Budget(probe=4.0, search=16.0)
    own, free = (search(problem, roles, None, budget) for roles in (role_numbers(loop), None))
    assert own is not None and free is not None and free.is_proven
    assert own.schedule.interval == free.schedule.interval


def test_missing_solver_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilec.lowering.gpu.schedule.follow_schedule.solver_name", lambda: None)
    args, _ = arguments(1)
    (remark,) = [each for each in compiled(args, solver=True).all_remarks if "solver" in each.message]
    assert remark.message == "solver=on is not followed: OR-Tools is not installed; install tilec[schedule]"
