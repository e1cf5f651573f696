"""Reduction plans, executed on numbers, reduce each element of a row once, for all layouts."""

from __future__ import annotations

import numpy as np
import pytest
from sample_layouts import LAYOUTS

from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.reduction_plan import ReductionPlan, reduction_plan
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator


def execute(layout: LinearLayout, plan: ReductionPlan, tile: np.ndarray) -> np.ndarray:
    """The sums that the plan computes, indexed by [register, thread]."""
    threads = np.arange(32 * layout.warps)
    held = np.array([tile[layout.apply(r, threads % 32, threads // 32)] for r in range(layout.register_count)])
    sums = held.copy()
    for row, members in plan.register_rows:
        sums[row] = sum(held[member] for member in members)
    sums = sums[list(plan.row_of_register)]
    for lane_mask, register_mask in plan.lane_steps:
        registers = np.arange(layout.register_count)[:, None] ^ register_mask
        sums = sums + sums[registers, threads[None, :] ^ lane_mask]
    if plan.warp_parts == 1:
        return sums
    parts = np.full(plan.written.shape, np.nan)
    for register in range(layout.register_count):
        parts[plan.written.apply(register, threads % 32, threads // 32)] = sums[register]
    every = plan.every_part(plan.result.reshape((plan.result.size,)))
    count = layout.register_count
    read = [
        [every.apply(part * count + r, threads % 32, threads // 32) for r in range(count)]
        for part in range(plan.warp_parts)
    ]
    return sum(np.array([parts[offset] for offset in part]) for part in read)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
def test_every_thread_has_the_sums_of_its_rows(name, dimension):
    layout = LAYOUTS[name]
    if dimension >= len(layout.shape):
        dimension = 0
    assert layout.is_surjective
    tile = np.random.default_rng(0).integers(0, 1 << 20, layout.shape).astype(float)
    sums = execute(layout, reduction_plan(layout, dimension), tile)
    result = reduction_plan(layout, dimension).result
    expected = tile.sum(axis=dimension)
    for register in range(layout.register_count):
        for thread in range(32 * layout.warps):
            assert sums[register, thread] == expected[result.apply(register, thread % 32, thread // 32)]


def test_row_in_one_thread_needs_no_shuffle():
    plan = reduction_plan(tensor_memory_32x32b((128, 64), 4), 1)
    assert plan.lane_steps == () and plan.warp_parts == 1
    assert [len(members) for _, members in plan.register_rows] == [64]


def test_row_in_four_lanes_takes_two_shuffles():
    plan = reduction_plan(wgmma_accumulator((64, 64), 4), 1)
    assert plan.lane_steps == ((1, 0), (2, 0)) and plan.warp_parts == 1


def test_column_over_all_warps_goes_through_shared_memory():
    plan = reduction_plan(wgmma_accumulator((64, 64), 4), 0)
    assert [lane for lane, _ in plan.lane_steps] == [4, 8, 16] and plan.warp_parts == 4
