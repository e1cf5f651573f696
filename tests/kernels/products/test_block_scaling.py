"""ct.mma_scaled: products of 8-bit and 4-bit floats whose blocks along K have scale factors."""

from __future__ import annotations

import numpy as np
import pytest
from block_scaling import matmul, matmul_of_columns, matmul_of_two, repeated_factors
from compare import SEEDS, assert_within, product_tolerance, run_everywhere
from scaled_operands import (
    E4M3,
    E8M0,
    FORMS,
    SCALED_FIRST,
    arguments,
    check,
    check_blocks,
    in_blocks,
    messages,
    operand,
)

import tilec as ct
from tilec.lowering.gpu.schedule.schedule_report import schedule_reports
from tilec.signature import Signature

# Tiles, then extents; the last tiles of a row, a column and K may be partial.
SHAPES = [
    ((128, 64, 128), (256, 128, 384)),
    ((128, 128, 64), (128, 128, 192)),
    ((256, 128, 64), (256, 256, 128)),
    ((128, 256, 64), (128, 256, 128)),
    ((128, 16, 256), (128, 32, 256)),
    ((128, 64, 128), (136, 40, 160)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_matmul(form, shape):
    check(form, shape, target="sm_100a", hints={})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_twenty_seeds(form):
    check(form, SHAPES[0], target="sm_100a", hints={}, seeds=SEEDS)


@pytest.mark.parametrize("form", [FORMS["mxf8 e4m3"], FORMS["nvf4"]], ids=["mxf8", "nvf4"])
def test_switches(form, switches):
    check(form, SHAPES[0], target="sm_100a", hints=switches)


BLOCK_SHAPES = [
    ((128, 128, 128), (256, 128, 512)),
    ((256, 128, 256), (256, 256, 512)),
    ((128, 256, 128), (128, 256, 640)),
]


@pytest.mark.parametrize("shape", BLOCK_SHAPES, ids=str)
def test_factors_in_blocks(shape, switches):
    check_blocks(shape, hints=switches)


@pytest.mark.parametrize("shape", BLOCK_SHAPES, ids=str)
def test_twenty_seeds_of_factors_in_blocks(shape):
    check_blocks(shape, hints={}, seeds=SEEDS)


def test_factors_loaded_before_the_loop(switches):
    """A copy to tensor memory must not overtake the multiply that still reads the previous copy."""
    random, form, depth = np.random.default_rng(5), FORMS["mxf8 e4m3"], 512
    elements = [random.standard_normal((128, depth)).astype(E4M3) for _ in range(2)]
    factors = [np.exp2(random.integers(-3, 4, (128, 4))).astype(E8M0) for _ in range(2)]
    a, b = (
        x.astype(np.float64) * np.tile(np.repeat(s.astype(np.float64), 32, 1), 4)
        for x, s in zip(elements, factors, strict=True)
    )
    c, exact = np.zeros((128, 128), np.float32), a @ b.T
    args = (elements[0], in_blocks(factors[0]), elements[1], in_blocks(factors[1]), c, 128, 128, 128, form.block)
    for (c,) in run_everywhere(repeated_factors, (1, 1), args, (4,), target="sm_100a", hints=switches, seeds=range(3)):
        assert_within(c, exact, product_tolerance(a, b.T, exact, np.float32))


# Tiles that the block-scaled unit of sm_100a refuses, except the first; the last tiles of the second may be partial.
GENERAL_SHAPES = [
    ((128, 64, 64), (128, 64, 128)),
    ((64, 32, 64), (72, 40, 160)),
    ((16, 8, 32), (32, 16, 64)),
    ((2, 2, 64), (4, 2, 64)),
    ((1, 128, 32), (2, 128, 64)),
]


@pytest.mark.parametrize("shape", GENERAL_SHAPES, ids=str)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_any_tile(form, shape, target):
    """Scaled operands are exact, so that sums are rounded as in any multiply, and once more with f8E8M0FNU factors."""
    check(form, shape, target=target, hints={})


# Tiles of few rows and their extents, of which the last tiles may be partial, and hints.
FEW_ROWS = [
    ((16, 128, 128), (13, 200, 416), {}),
    ((64, 256, 128), (100, 300, 288), {"num_ctas": 2}),
    ((2, 128, 256), (5, 264, 480), {"roles": False}),
    ((32, 512, 64), (40, 520, 160), {"persistent": True}),
    ((64, 128, 64), (64, 136, 160), {"occupancy": 2}),
]


@pytest.mark.parametrize(("tile", "extents", "hints"), FEW_ROWS, ids=str)
@pytest.mark.parametrize("name", ["mxf8 e4m3", "mxf4", "nvf4"])
def test_few_rows_change_sides(name, tile, extents, hints):
    """The columns are the 128 rows of the unit, and each side keeps its own factors."""
    form, random = FORMS[name], np.random.default_rng(2)
    check(form, (tile, extents), target="sm_100a", hints=hints)
    a, b = operand(random, extents[0], extents[2], form), operand(random, extents[1], extents[2], form)
    args = arguments(form, a, b, tile)
    assert not messages(matmul, args, SCALED_FIRST, hints)
    # The factors of B are named as those of the right operand, though they are the left ones of the instruction.
    sides = [message.split(" of the ")[1] for message in messages(matmul, args, "go through registers", hints)]
    assert sorted(side[:5] for side in sides) == ["left ", "right"]


def test_few_rows_with_columns_that_are_contiguous():
    random, form = np.random.default_rng(4), FORMS["mxf8 e5m2"]
    a, b = operand(random, 32, 128, form), operand(random, 128, 128, form)
    exact, c = a.values @ b.values.T, np.zeros((32, 128), np.float32)
    tile = (32, 128, 64)
    args = (np.ascontiguousarray(a.stored.T), a.factors, np.ascontiguousarray(b.stored.T), b.factors.T, c, *tile)
    assert not messages(matmul_of_columns, args, SCALED_FIRST)
    for (c,) in run_everywhere(matmul_of_columns, (1, 1), args, (4,), target="sm_100a", hints={}):
        assert_within(c, exact, product_tolerance(a.values, b.values.T, exact, np.float32))


@pytest.mark.parametrize("tile", [(128, 32, 64), (64, 32, 64), (16, 8, 32)], ids=str)
def test_operands_contiguous_along_rows_and_columns(tile, target):
    random, form = np.random.default_rng(4), FORMS["mxf8 e5m2"]
    a, b = operand(random, tile[0], 128, form), operand(random, tile[1], 128, form)
    exact, c = a.values @ b.values.T, np.zeros(tile[:2], np.float32)
    args = (np.ascontiguousarray(a.stored.T), a.factors, np.ascontiguousarray(b.stored.T), b.factors.T, c, *tile)
    for (c,) in run_everywhere(matmul_of_columns, (1, 1), args, (4,), target=target, hints={}):
        assert_within(c, exact, product_tolerance(a.values, b.values.T, exact, np.float32))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_twenty_seeds_without_a_unit(form, target):
    check(form, ((64, 16, 64), (64, 16, 128)), target=target, hints={}, seeds=SEEDS)


@pytest.mark.parametrize("slots", [1, 2])
def test_parts_that_use_one_ring_wait_for_each_other_in_the_schedule(slots):
    """Two parts of a multiply fill one slot in turn, or one slot each, the first one again in the next iteration."""
    stored = np.zeros((2, 64, 128), E4M3), np.zeros((2, 128, 16), np.float16)
    signature = Signature.from_arguments(matmul_of_two, (*stored, np.zeros((2, 64, 16), np.float32)))
    hints = {"stages": slots}
    compiled = ct.compile(matmul_of_two, target="sm_100a", signature=signature, hints=hints, stop="gpu")
    (report,) = schedule_reports(compiled.stage("gpu").value, "sm_100a")
    edges = {(edge.source, edge.target, edge.distance) for edge in report.loop.problem.edges}
    stores, multiplies = (
        [each.name for each in report.loop.problem.operations if each.name.startswith(name)]
        for name in ("store_shared", "tcgen05_mma")
    )
    between = {edge for edge in edges if {*edge[:2]} & {*stores} and {*edge[:2]} & {*multiplies}}
    waits = {
        1: {(multiplies[0], stores[1], 0), (multiplies[1], stores[0], 1)},
        2: {(multiplies[0], stores[0], 1), (multiplies[1], stores[1], 1)},
    }
    assert between == {(stores[0], multiplies[0], 0), (stores[1], multiplies[1], 0), *waits[slots]}
    assert report.answer is not None and report.attained is not None
    assert report.attained >= report.answer.bound.interval


@pytest.mark.parametrize("hints", [{}, {"roles": False}], ids=["roles", "no-roles"])
def test_many_blocks_use_one_ring(target, hints):
    """Blocks fill the same channels in turn; each of its own would need more than tensor memory."""
    check(FORMS["mxf8 e4m3"], ((64, 128, 256), (64, 128, 256)), target=target, hints=hints, seeds=range(1))


@pytest.mark.parametrize(
    ("shape", "target", "instruction", "refusals"),
    [
        ((128, 64, 128), "sm_100a", "kind::mxf8f6f4.block_scale", []),
        (
            (64, 64, 128),
            "sm_100a",
            "kind::f16",
            ["block-scaled tcgen05 needs a multiple of 128 rows, the accumulator has 64"],
        ),
        ((128, 8, 64), "sm_100a", "mma.sync", ["tcgen05 needs 16 to 256 columns, the accumulator has 8"]),
        ((128, 64, 128), "sm_90a", "wgmma.mma_async", ["sm_90a has no multiply with block scaling"]),
    ],
)
def test_a_remark_has_the_reason_why_the_unit_is_not_used(shape, target, instruction, refusals):
    random, form = np.random.default_rng(0), FORMS["mxf8 e4m3"]
    a, b = operand(random, shape[0], shape[2], form), operand(random, shape[1], shape[2], form)
    signature = Signature.from_arguments(matmul, arguments(form, a, b, shape))
    compiled = ct.compile(matmul, target=target, signature=signature, stop="ptx")
    assert instruction in compiled.ptx
    found = [remark.message for remark in compiled.all_remarks if "done with operands" in remark.message]
    assert found == [f"the multiply of {shape[0]}x{shape[1]} is {SCALED_FIRST}: {refusal}" for refusal in refusals]
