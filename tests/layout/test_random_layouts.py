"""Properties of random layouts, whose bases overlap, repeat and are spread over registers, lanes and warps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_layouts import BITS, SHAPE, layouts

from tilec.lowering.layout.conversion import RegisterMove, Shuffle, chunks, conversion, scratch_matrix
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout, unflatten
from tilec.lowering.layout.reduction_plan import reduction_plan


def element_indices(layout: LinearLayout) -> np.ndarray:
    """Row-major index of each element, indexed by [register, thread]."""
    registers, threads = np.arange(layout.register_count), np.arange(32 * layout.warps)
    return layout.register_matrix(registers)[:, None] ^ layout.thread_matrix(threads)[None, :]


@given(layouts())
def test_text_round_trip(layout):
    assert parse_layout(str(layout)) == layout


@given(layouts())
def test_representatives_contain_each_element_once(layout):
    registers = [r for r in range(layout.register_count) if not r & layout.free_register_mask]
    threads = [t for t in range(32 * layout.warps) if not t & layout.free_thread_mask]
    assert sorted(element_indices(layout)[np.ix_(registers, threads)].ravel()) == list(range(1 << BITS))
    assert all(layout.register_images[r] == layout.register_images[layout.representatives[r]] for r in registers)


@given(layouts(), layouts())
@settings(deadline=None)
def test_register_moves_and_shuffles_convert(source, target):
    """Executed in numpy, a conversion puts each element into the registers of the target layout."""
    strategy, before, after = conversion(source, target), element_indices(source), element_indices(target)
    threads = np.arange(32 * target.warps)
    if isinstance(strategy, RegisterMove):
        assert np.array_equal(before[list(strategy.sources)], after)
    elif isinstance(strategy, Shuffle):
        for register in range(target.register_count):
            reads = strategy.lane(threads % 32) ^ strategy.flips[register]
            chosen = strategy.sources[register] ^ strategy.selected(threads % 32)
            assert np.array_equal(before[chosen, threads // 32 * 32 + reads], after[register])


@given(layouts(), layouts(), st.sampled_from([1, 2, 4, 8]))
@settings(deadline=None)
def test_scratch_is_a_bijection(source, target, element_bytes):
    offsets = scratch_matrix(source, target, element_bytes)
    assert sorted(offsets(np.arange(1 << BITS))) == list(range(0, element_bytes << BITS, element_bytes))


@given(layouts(), layouts(), st.sampled_from([1 << 6, 1 << 8]))
@settings(deadline=None)
def test_chunks_cover_the_tile_once(source, target, limit):
    plan = chunks(source, target, limit)
    for layout, registers in ((source, plan.source_registers), (target, plan.target_registers)):
        parts = [element_indices(layout)[registers[part]] for part in range(plan.count)]
        elements = [set(part.ravel().tolist()) for part in parts]
        assert set().union(*elements) == set(range(1 << BITS)) and sum(map(len, elements)) == 1 << BITS


@given(layouts(), st.sampled_from([0, 1]))
@settings(deadline=None, max_examples=25)
def test_reductions_within_a_warp_include_each_element_once(layout, dimension):
    """Executed on sets, a plan unites disjoint sets, and each thread ends with elements of its own row only."""
    plan = reduction_plan(layout, dimension)
    rows = plan.result.register_matrix(np.arange(layout.register_count))[:, None] ^ plan.result.thread_matrix(
        np.arange(32 * layout.warps)
    )
    sets = [[{int(e)} for e in line] for line in element_indices(layout)]
    for first, members in plan.register_rows:
        sets[first] = [_union([sets_of[t] for sets_of in (sets[m] for m in members)]) for t in range(32 * layout.warps)]
    sets = [sets[first] for first in plan.row_of_register]
    for lane_mask, register_mask in plan.lane_steps:
        sets = [
            [_union([line[t], sets[r ^ register_mask][t ^ lane_mask]]) for t in range(len(line))]
            for r, line in enumerate(sets)
        ]
    along = SHAPE[dimension]
    row_of_element = [unflatten(element, SHAPE)[1 - dimension] for element in range(1 << BITS)]
    for r, line in enumerate(sets):
        for t, elements in enumerate(line):
            kept = {row_of_element[e] for e in elements}
            assert kept == {int(rows[r, t])} and len(elements) * plan.warp_parts == along


def _union(sets: list[set[int]]) -> set[int]:
    total = set().union(*sets)
    assert len(total) == sum(map(len, sets)), "an element is reduced twice"
    return total
