"""Ordered reduction plans, executed on tuples of positions: each step joins two neighbours in order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_layouts import LAYOUTS, layouts

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.reduction_plan import ReductionPlan, in_order, ordered_plan
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator

Block = tuple[int, ...]


def joined(first: Block, second: Block) -> Block:
    """Two neighbours; anything else is a mistake of the plan."""
    assert first[-1] + 1 == second[0], (first, second)
    return first + second


class Carried:
    """The execution of a plan: `held[register][thread]` are the positions that the register contains."""

    def __init__(self, layout: LinearLayout, plan: ReductionPlan, dimension: int) -> None:
        self.layout, self.plan = layout, plan
        self.registers, self.threads = range(layout.register_count), range(32 * layout.warps)
        self.held = [[(layout.apply(r, t % 32, t // 32)[dimension],) for t in self.threads] for r in self.registers]

    def is_later(self, step: int, register: int, thread: int) -> bool:
        mask = self.plan.order[step]
        return (mask & (register | thread << len(self.layout.register))).bit_count() % 2 == 1

    def join(self, step: int, register: int, thread: int, own: Block, other: Block) -> Block:
        return joined(other, own) if self.is_later(step, register, thread) else joined(own, other)

    def in_registers(self) -> None:
        results = [list(row) for row in self.held]
        for first, members in self.plan.register_rows:
            for thread in self.threads:
                level = [self.held[member][thread] for member in members]
                for step in range(self.plan.register_steps):
                    pairs = zip(level[0::2], level[1::2], strict=True)
                    level = [self.join(step, first, thread, *pair) for pair in pairs]
                (results[first][thread],) = level
        self.held = [results[first] for first in self.plan.row_of_register]

    def across_lanes(self) -> None:
        for step, (lane_mask, register_mask) in enumerate(self.plan.lane_steps, self.plan.register_steps):
            self.held = [
                [
                    self.join(step, r, t, self.held[r][t], self.held[r ^ register_mask][t ^ lane_mask])
                    for t in self.threads
                ]
                for r in self.registers
            ]

    def across_warps(self) -> None:
        plan = self.plan
        written: dict[tuple[int, ...], Block] = {}
        for r in self.registers:
            for t in self.threads:
                block = self.held[r][t]
                assert written.setdefault(plan.written.apply(r, t % 32, t // 32), block) == block
        every = plan.every_part(plan.result.reshape((plan.result.size,)))
        count = self.layout.register_count
        for r in self.registers:
            for t in self.threads:
                parts = [written[every.apply(p * count + r, t % 32, t // 32)] for p in range(plan.warp_parts)]
                while len(parts) > 1:
                    parts = [joined(*pair) for pair in zip(parts[0::2], parts[1::2], strict=True)]
                (self.held[r][t],) = parts


def check(layout: LinearLayout, dimension: int) -> None:
    """Every register of every thread ends with all positions in order."""
    ordered = in_order(layout, dimension)
    assert ordered.drop(dimension) == layout.drop(dimension) and ordered.is_surjective
    assert in_order(ordered, dimension) == ordered
    carried = Carried(ordered, ordered_plan(ordered, dimension), dimension)
    carried.in_registers()
    carried.across_lanes()
    carried.across_warps()
    everything = tuple(range(layout.shape[dimension]))
    assert all(block == everything for row in carried.held for block in row)


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_thread_ends_with_the_positions_in_order(name, dimension):
    if dimension < len(LAYOUTS[name].shape):
        check(LAYOUTS[name], dimension)


@given(layouts(), st.sampled_from([0, 1]))
@settings(deadline=None, max_examples=25)
def test_layouts_at_random(layout, dimension):
    check(layout, dimension)


def test_row_in_one_thread_keeps_its_layout():
    layout = tensor_memory_32x32b((128, 64), 4)
    assert in_order(layout, 1) == layout
    assert ordered_plan(layout, 1).order == tuple(1 << bit for bit in range(6))


def test_low_column_bits_of_lanes_are_moved_to_registers():
    """If the low column bits are in lanes and the high bits in registers, the low bits move to registers."""
    assert str(in_order(blocked((4, 128), 4), 1)) == (
        "register=(0,1)(0,2) lane=(0,4)(0,8)(0,16)(0,32)(0,64) warp=(1,0)(2,0) shape=4x128"
    )


def test_lanes_between_registers_change_places():
    layout = wgmma_accumulator((64, 16), 4)
    assert [step for step, _ in ordered_plan(in_order(layout, 1), 1).lane_steps] == [1, 2]
    assert in_order(layout, 0) != layout
