"""ct.mma_scaled: products of 8-bit and 4-bit floats whose blocks along K have scale factors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from block_scaling import (
    matmul,
    matmul_of_blocks,
    matmul_of_columns,
    matmul_of_two,
    persistent_matmul,
    product_and_double,
    repeated_factors,
)
from compare import SEEDS, assert_within, product_tolerance, run_everywhere

import tilec as ct
from tilec.lowering.gpu.schedule.schedule_report import schedule_reports
from tilec.signature import Signature

E4M3, E5M2, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu
E2M1 = ml_dtypes.float4_e2m1fn
# The codes of a factor of 1.
ONE = {np.dtype(E8M0): 127, np.dtype(E4M3): 56}


@dataclass(frozen=True)
class Form:
    """The types of elements and scale factors, and the number of elements that share a factor."""

    element: type
    scale: type
    block: int


FORMS = {
    "mxf8 e4m3": Form(E4M3, E8M0, 32),
    "mxf8 e5m2": Form(E5M2, E8M0, 32),
    "mxf4": Form(E2M1, E8M0, 32),
    "mxf4 by 16": Form(E2M1, E8M0, 16),
    "nvf4": Form(E2M1, E4M3, 16),
}


@dataclass(frozen=True)
class Operand:
    """A matrix of rows along M or N by K, its factors, and its scaled values; two elements of 4 bits share a byte."""

    stored: np.ndarray
    factors: np.ndarray
    values: np.ndarray


def operand(random: np.random.Generator, rows: int, depth: int, form: Form) -> Operand:
    elements = random.standard_normal((rows, depth)).astype(form.element)
    factors = np.exp2(random.uniform(-6, 6, (rows, depth // form.block))).astype(form.scale)
    values = elements.astype(np.float64) * np.repeat(factors.astype(np.float64), form.block, 1)
    codes = elements.view(np.uint8)
    stored = codes[:, 0::2] & 15 | (codes[:, 1::2] & 15) << 4 if form.element is E2M1 else elements
    return Operand(stored, factors, values)


def arguments(form: Form, a: Operand, b: Operand, tile: tuple[int, int, int]) -> tuple[Any, ...]:
    c = np.zeros((len(a.stored), len(b.stored)), np.float32)
    return a.stored, a.factors, b.stored, b.factors.T, c, *tile, form.block, 1 + (form.element is E2M1)


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


def check(form: Form, shape, *, target: str, hints: dict, seeds: range = range(2)) -> None:
    (tm, tn, tk), (m, n, depth) = shape
    random = np.random.default_rng(m + n + depth)
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    args = arguments(form, a, b, shape[0])
    exact = a.values @ b.values.T
    tolerance = product_tolerance(a.values, b.values.T, exact, np.float32)
    grid = (-(-m // tm), -(-n // tn))
    for (c,) in run_everywhere(matmul, grid, args, (4,), target=target, hints=hints, seeds=seeds):
        assert_within(c, exact, tolerance)


def in_blocks(factors: np.ndarray) -> np.ndarray:
    """Blocks of 128 rows by 4 factors; the factors of the last ones that no row or element has are 1."""
    rows, count = (-(-extent // of) * of for extent, of in zip(factors.shape, (128, 4), strict=True))
    padding = [(0, whole - extent) for whole, extent in zip((rows, count), factors.shape, strict=True)]
    factors = np.pad(factors.view(np.uint8), padding, constant_values=ONE[factors.dtype]).view(factors.dtype)
    parts = factors.reshape(rows // 128, 4, 32, count // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(parts).reshape(rows // 128, count // 4, 32, 16)


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


def check_blocks(shape, *, hints: dict, seeds: range = range(2)) -> None:
    ((tm, tn, tk), (m, n, depth)), form = shape, FORMS["mxf8 e4m3"]
    random = np.random.default_rng(m + n + depth)
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    c, exact = np.zeros((m, n), np.float32), a.values @ b.values.T
    args = (a.stored, in_blocks(a.factors), b.stored, in_blocks(b.factors), c, tm, tn, tk, form.block, 1)
    grid, tolerance = (m // tm, n // tn), product_tolerance(a.values, b.values.T, exact, np.float32)
    for (c,) in run_everywhere(matmul_of_blocks, grid, args, (4,), target="sm_100a", hints=hints, seeds=seeds):
        assert_within(c, exact, tolerance)


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


SCALED_FIRST = "done with operands that threads convert to 16 bits and multiply by their scale factors"


# Tiles whose accumulators and factors fit the tensor memory of pairs; rows, columns and K may be partial.
PAIRS = {
    "mxf8": (FORMS["mxf8 e4m3"], (256, 256, 128), (512, 256, 384), 2),
    "by the model": (FORMS["mxf8 e5m2"], (256, 128, 128), (256, 256, 256), None),
    "mxf4": (FORMS["mxf4"], (256, 128, 256), (256, 128, 512), 2),
    "nvf4": (FORMS["nvf4"], (256, 256, 256), (256, 256, 768), 2),
    "partial": (FORMS["mxf8 e4m3"], (256, 256, 128), (320, 280, 352), 2),
    "partial nvf4": (FORMS["nvf4"], (256, 128, 256), (264, 136, 416), 2),
    "two pairs": (FORMS["mxf8 e4m3"], (512, 128, 128), (512, 128, 256), 4),
    "deep": (FORMS["mxf8 e4m3"], (256, 256, 256), (256, 256, 768), 2),
    "in turn": (FORMS["mxf8 e4m3"], (256, 512, 128), (256, 512, 256), 2),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("kernel", [matmul, matmul_of_blocks], ids=["rows", "blocks"])
def test_pairs(kernel, name):
    """Each CTA has the factors of its rows, and those of all columns, of which it loads half by TMA."""
    form, tile, (m, n, depth), ctas = PAIRS[name]
    random, is_in_blocks = np.random.default_rng(m + n + depth), kernel is matmul_of_blocks
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    args, exact = list(arguments(form, a, b, tile)), a.values @ b.values.T
    if is_in_blocks:
        args[1], args[3] = in_blocks(a.factors), in_blocks(b.factors)
    hints = {} if ctas is None else {"num_ctas": ctas}
    ptx = ct.compile(kernel, target="sm_100a", signature=Signature.from_arguments(kernel, args), hints=hints).ptx
    multiplies = re.findall(r"tcgen05\.mma\.cta_group::2\.kind::[a-z0-9]+\.block_scale", ptx)
    # Two rounds of a depth of 128 bytes; no other unit multiplies.
    assert len(multiplies) == ptx.count("tcgen05.mma") == 4 and "mma.sync" not in ptx
    assert (ptx.count("multicast::cluster.cta_group::2") > 0) == is_in_blocks
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    tolerance = product_tolerance(a.values, b.values.T, exact, np.float32)
    for (c,) in run_everywhere(kernel, grid, args, (4,), target="sm_100a", hints=hints, seeds=range(2)):
        assert_within(c, exact, tolerance)


def test_fewer_blocks_than_the_hint_asks_for():
    """64 rows per block have no multiply with factors, so that two blocks divide the 256 rows instead of four."""
    random, form, hints = np.random.default_rng(4), FORMS["mxf8 e4m3"], {"num_ctas": 4}
    a, b = operand(random, 256, 256, form), operand(random, 256, 256, form)
    args, exact = arguments(form, a, b, (256, 256, 128)), a.values @ b.values.T
    reason = "blocks with 64 rows each must multiply in pairs, but block scaling needs 128 rows per block"
    wanted = f"num_ctas=4 is not followed: {reason}; each tile block runs as 2 blocks"
    assert messages(matmul, args, "num_ctas", hints) == [wanted]
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target="sm_100a", hints=hints):
        assert_within(c, exact, product_tolerance(a.values, b.values.T, exact, np.float32))


@pytest.mark.parametrize("columns", [256, 128])
@pytest.mark.parametrize("hints", [{"num_ctas": 2}, {"num_ctas": 2, "multicast": False}, {"num_ctas": 1}], ids=str)
def test_tiles_of_a_persistent_kernel(hints, columns):
    """Half of 128 columns has a narrower swizzle than the whole."""
    random, form, (m, n, depth) = np.random.default_rng(7), FORMS["mxf8 e4m3"], (520, 272, 288)
    a, b = operand(random, m, depth, form), operand(random, n, depth, form)
    c, exact = np.zeros((m, n), np.float32), a.values @ b.values.T
    rows = np.ascontiguousarray(b.stored.T)
    args = (a.stored, in_blocks(a.factors), rows, in_blocks(b.factors), c, 256, columns, 128)
    for (c,) in run_everywhere(persistent_matmul, (2,), args, (4,), target="sm_100a", hints=hints, seeds=range(2)):
        assert_within(c, exact, product_tolerance(a.values, b.values.T, exact, np.float32))


DIVIDED = "divided into parts that need fewer columns of tensor memory"


def messages(kernel, args, words: str, hints: dict[str, Any] | None = None, target: str = "sm_100a") -> list[str]:
    """The remarks with these words."""
    signature = Signature.from_arguments(kernel, args)
    compiled = ct.compile(kernel, target=target, signature=signature, hints=hints or {}, stop="ptx")
    return [remark.message for remark in compiled.all_remarks if words in remark.message]


IN_TURN = "the block computes the {} in {} parts, and loads the {} operand for each"


def test_two_multiplies_are_computed_in_parts_for_which_there_are_columns(target):
    random, form = np.random.default_rng(3), FORMS["mxf8 e4m3"]
    a, b = operand(random, 128, 32, form), operand(random, 256, 32, form)
    exact = 2 * a.values @ b.values.T
    args = (a.stored, a.factors, b.stored, b.factors.T, np.zeros((128, 256), np.float32))
    reason = "other multiplies leave 244 columns of tensor memory, and this one needs 268"
    assert messages(product_and_double, args, "in 2 parts") == [f"{reason}: {IN_TURN.format('columns', 2, 'left')}"]
    for (c,) in run_everywhere(product_and_double, (1, 1), args, (4,), target=target, hints={}):
        assert_within(c, exact, 2 * product_tolerance(a.values, b.values.T, exact / 2, np.float32))


def test_a_divided_multiply_of_factors_in_blocks():
    check_blocks(((256, 256, 128), (256, 256, 256)), hints={"num_ctas": 1})


@pytest.mark.parametrize(
    ("shape", "reason", "words"),
    [
        (((256, 256, 32), (256, 256, 64)), "256x256 and its scale factors need 528 columns", ("rows", 2, "right")),
        (((128, 512, 32), (128, 512, 32)), "tcgen05 needs 16 to 256 columns", ("columns", 2, "left")),
        (((512, 256, 32), (512, 256, 64)), "an accumulator of 512x256 needs more", ("rows", 4, "right")),
        (((256, 512, 32), (256, 512, 64)), "tcgen05 needs 16 to 256 columns", ("columns", 4, "left")),
    ],
    ids=str,
)
def test_a_tile_that_needs_more_than_tensor_memory_is_computed_in_turn(shape, reason, words):
    """The unit does equal parts of the tile."""
    random, form, hints = np.random.default_rng(0), FORMS["mxf8 e4m3"], {"num_ctas": 1}
    a, b = operand(random, shape[1][0], 32, form), operand(random, shape[1][1], 32, form)
    (message,) = messages(matmul, arguments(form, a, b, shape[0]), IN_TURN.format(*words), hints)
    assert reason in message
    check(form, shape, target="sm_100a", hints=hints, seeds=range(1))


@ct.kernel
def announced(A, SA, B, SB, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """A tile that nothing can divide, as the message is printed once."""
    a, b = ct.load(A, (0, 0), (tm, tk)), ct.load(B, (0, 0), (tn, tk))
    factors = ct.load(SA, (0, 0), (tm, tk // 32)), ct.load(SB, (0, 0), (tk // 32, tn))
    ct.printf("computed")
    ct.store(C, (0, 0), ct.mma_scaled(a, factors[0], b.transpose(), factors[1], ct.zeros((tm, tn), ct.float32)))


def test_a_multiply_is_halved_where_its_tile_cannot_be_divided():
    random, form = np.random.default_rng(0), FORMS["mxf8 e4m3"]
    a, b = operand(random, 256, 32, form), operand(random, 256, 32, form)
    exact, c = a.values @ b.values.T, np.zeros((256, 256), np.float32)
    args = (a.stored, a.factors, b.stored, b.factors.T, c, 256, 256, 32)
    (message,) = messages(announced, args, DIVIDED)
    assert "256x256 and its scale factors need 528 columns" in message
    for (c,) in run_everywhere(announced, (1, 1), args, (4,), target="sm_100a", hints={}):
        assert_within(c, exact, product_tolerance(a.values, b.values.T, exact, np.float32))


def test_a_tile_that_no_unit_can_do_is_not_divided():
    random, form = np.random.default_rng(0), FORMS["mxf8 e4m3"]
    a, b = operand(random, 64, 32, form), operand(random, 512, 32, form)
    args = (a.stored, a.factors, b.stored, b.factors.T, np.zeros((64, 512), np.float32), 64, 512, 32)
    reason = "block-scaled tcgen05 needs a multiple of 128 rows, the accumulator has 64"
    assert messages(announced, args, "the multiply of") == [f"the multiply of 64x512 is {SCALED_FIRST}: {reason}"]


@pytest.mark.parametrize("element", [E4M3, E5M2])
def test_factors_of_every_magnitude(element, target):
    """The product of two factors may be out of the range of float32; a NaN factor makes its row or column NaN."""
    check_every_magnitude(element, 64, 64, target)


@pytest.mark.parametrize("element", [E4M3, E5M2])
def test_factors_of_every_magnitude_of_a_large_tile(element):
    """sm_90a multiplies parts of 64 columns, whose sums are multiplied by powers of two and added."""
    check_every_magnitude(element, 128, 256, "sm_90a")


def check_every_magnitude(element: type, rows: int, columns: int, target: str) -> None:
    random, form = np.random.default_rng(8), Form(element, E8M0, 32)
    codes = np.array([*range(0, 252, 4), 255], np.uint8)
    operands = []
    for count in (rows, columns):
        elements = random.integers(-7, 8, (count, 32)).astype(element)
        factors = np.tile(codes, count // len(codes))[:, np.newaxis].view(E8M0)
        operands.append(Operand(elements, factors, elements.astype(np.float64)))
    a, b = operands
    # Sums of 32 products are exact in float32, and their products with powers of two in float64.
    with np.errstate(over="ignore", under="ignore"):
        factors = a.factors.astype(np.float64) * b.factors.astype(np.float64).T
        exact = (a.values @ b.values.T * factors).astype(np.float32)
    assert np.isnan(exact).any() and np.isinf(exact).any()
    assert ((0 < np.abs(exact)) & (np.abs(exact) < 2.0**-126)).any()
    # A sum of products beyond float32 is zero.
    assert ((a.values @ b.values.T == 0) & (factors > 2.0**130)).any()
    args = arguments(form, a, b, (rows, columns, 32))
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints={}, seeds=range(2)):
        assert np.array_equal(c, exact, equal_nan=True)


@pytest.mark.parametrize("tile", [(64, 32, 128), (128, 256, 128)], ids=str)
@pytest.mark.parametrize("form", [FORMS["mxf8 e4m3"], FORMS["mxf8 e5m2"], FORMS["mxf4"]], ids=str)
def test_factors_of_a_row_that_differ_by_more_than_a_window(form, tile, target):
    """Blocks along K whose factors differ by 2^60 or 2^120 are in different windows, which are added in turn."""
    check_far_factors(form, tile, target, {})


def test_blocks_of_a_cluster_have_windows_of_their_own():
    """Each block of sm_90a reduces the factors of its rows alone, and multiplies as often as these need."""
    check_far_factors(FORMS["mxf8 e4m3"], (256, 128, 128), "sm_90a", {"num_ctas": 2})


def check_far_factors(form: Form, tile: tuple[int, int, int], target: str, hints: dict) -> None:
    random, depth = np.random.default_rng(6), 256
    operands = []
    for count in tile[:2]:
        each = operand(random, count, depth, form)
        factors = random.choice(np.array([67, 127, 187], np.uint8), (count, depth // form.block)).view(E8M0)
        elements = each.values / np.repeat(each.factors.astype(np.float64), form.block, 1)
        values = elements * np.repeat(factors.astype(np.float64), form.block, 1)
        operands.append(Operand(each.stored, factors, values))
    a, b = operands
    exact, args = a.values @ b.values.T, arguments(form, a, b, tile)
    if "num_ctas" in hints:
        assert messages(matmul, args, "num_ctas", hints, target) == []
    tolerance = product_tolerance(a.values, b.values.T, exact, np.float32)
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints=hints, seeds=range(1)):
        assert_within(c, exact, tolerance)


def test_an_infinite_element_is_no_nan_in_other_windows(target):
    """Infinity times the zero that stands for a factor of another window would be NaN."""
    form = FORMS["mxf8 e5m2"]
    elements, ones = np.ones((64, 64), np.float32), np.ones((16, 64), np.float32)
    elements[3, 40], elements[5, 2] = np.inf, -np.inf
    codes = np.tile(np.array([[60, 190]], np.uint8), (64, 1)).view(E8M0)
    a = Operand(elements.astype(E5M2), codes, elements)
    b = Operand(ones.astype(E5M2), np.full((16, 2), 127, np.uint8).view(E8M0), ones)
    args = arguments(form, a, b, (64, 16, 64))
    exact = np.full((64, 16), np.float32(2.0**68))
    exact[3], exact[5] = np.inf, -np.inf
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints={}, seeds=range(1)):
        assert np.array_equal(c, exact)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_large_tile_without_a_unit(form):
    """128 registers of a thread are the accumulator: the product is computed in parts of 64 columns."""
    shape = ((128, 256, 128), (256, 256, 384))
    check(form, shape, target="sm_90a", hints={}, seeds=range(2))


def test_a_large_product_by_powers_of_two_has_parts():
    """One role has all registers: beside a role that loads, ptxas would spill."""
    random, form, tile = np.random.default_rng(0), FORMS["mxf8 e4m3"], (128, 256, 128)
    args = list(arguments(form, operand(random, 128, 128, form), operand(random, 256, 128, form), tile))
    args[1], args[3] = in_blocks(args[1]), in_blocks(args[3].T)
    wanted = ["the kernel has one role: products that are added in parts need the registers of a role that loads"]
    assert messages(matmul_of_blocks, args, "one role", target="sm_90a") == wanted


def test_only_products_by_powers_of_two_have_parts():
    """f16 has all products of f8E4M3FN factors, which are added to the accumulator at once."""
    for name, instruction in (("mxf8 e4m3", "m64n64k16.f32.bf16.bf16"), ("nvf4", "m64n256k16.f32.f16.f16")):
        form, random = FORMS[name], np.random.default_rng(0)
        args = arguments(form, operand(random, 128, 128, form), operand(random, 256, 128, form), (128, 256, 128))
        ptx = ct.compile(matmul, target="sm_90a", signature=Signature.from_arguments(matmul, args), stop="ptx").ptx
        assert set(re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+)", ptx)) == {instruction}
