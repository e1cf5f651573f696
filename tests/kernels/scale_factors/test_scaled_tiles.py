"""Block-scaled products of tiles that pairs of CTAs divide, or that are computed in parts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from block_scaling import matmul, matmul_of_blocks, persistent_matmul, product_and_double
from compare import assert_within, product_tolerance, run_everywhere
from scaled_operands import FORMS, SCALED_FIRST, arguments, check, check_blocks, in_blocks, messages, operand

import tilec as ct
from tilec.signature import Signature

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
