"""Remarks about multiplies of narrow floats: conversions, and operands and stores that TMA does not do."""

from __future__ import annotations

import numpy as np
import pytest
from narrow_floats import constants, operand, product, product_of_strided_bytes, rounded, values

import tilec


def remarks(target, left, right, shape, tile, signature=None):
    random = np.random.default_rng(1)
    rows, columns, depth = shape
    args = [operand(values(random, left, (rows, depth)), left), operand(values(random, right, (columns, depth)), right)]
    args += [np.zeros((rows, columns), np.float32), *tile, *constants(left, right)]
    given = signature or tilec.Signature.from_arguments(product, args)
    return "\n".join(map(str, tilec.compile(product, target=target, signature=given).all_remarks))


def test_remark_about_the_conversion_to_halves():
    found = remarks("sm_90a", "float6_e2m3fn", "float4_e2m1fn", (64, 32, 128), (64, 32, 64))
    assert (
        "sm_90a has no operands of f6E2M3FN or f4E2M1FN: both are converted to f16, since it sums products of 8-bit "
        "floats with 13 fraction bits: use_fast_acc=True multiplies in f8E4M3FN [matrix-unit, "
    ) in found


def test_remark_about_short_sums_names_both_types():
    found = remarks("sm_90a", "float8_e5m2", "float8_e4m3fn", (64, 32, 128), (64, 32, 64))
    assert "wgmma sums f8E5M2 by f8E4M3FN with 13 fraction bits" in found


@pytest.mark.parametrize(
    ("declared_a", "tile", "reason"),
    [
        (
            "u8[?,96] align 16",
            (64, 32, 128),
            "the base address is not known to be a multiple of 32 bytes, which unpack",
        ),
        ("u8[?,96] strides (?%16,1) align 32", (64, 32, 128), "stride 0 is not known to be a multiple of 32 bytes"),
        (
            "u8[?,?] align 32",
            (64, 32, 128),
            "extent 1 is not known to be a multiple of 96 bytes, the 128 elements that",
        ),
        ("u8[?,96] align 32", (64, 32, 64), "TMA unpacks groups of 128 elements, a row of the tile has 64"),
        ("u8[?,96] align 32", (16, 16, 128), "mma.sync has no f6E2M3FN operands"),
    ],
)
def test_remark_about_operands_that_tma_does_not_unpack(declared_a, tile, reason):
    signature = (
        f"A: {declared_a}, B: f8E4M3FN[?,?], C: f32[?,?], tm={tile[0]}, tn={tile[1]}, tk={tile[2]}, "
        "a_type=f6E2M3FN, b_type=f8E4M3FN"
    )
    found = remarks("sm_100a", "float6_e2m3fn", "float8_e4m3fn", (tile[0], tile[1], 128), tile, signature)
    assert f"threads load the packed elements and convert them to f8E4M3FN: {reason}" in found


@pytest.mark.parametrize(
    ("declared_y", "tile", "reason"),
    [
        ("u8[?,288] align 16", (32, 128), "the base address is not known to be a multiple of 32 bytes"),
        ("u8[?,288] align 32", (256, 512), "the tile is too large to stage, or follows stores that do not use TMA"),
    ],
)
def test_remark_about_stores_that_tma_does_not_pack(declared_y, tile, reason):
    signature = f"X: f32[?,?], Y: {declared_y}, tm={tile[0]}, tn={tile[1]}"
    compiled = tilec.compile(rounded, target="sm_100a", signature=signature)
    assert f"threads pack and store the elements: {reason}" in "\n".join(map(str, compiled.all_remarks))


@pytest.mark.parametrize(
    ("order", "declared_a", "reason"),
    [
        (None, "u8[?,?%64] align 32", "the elements are not loaded through a packed view or a partition view"),
        ((0, 1), "u8[?,?%64] strides (1,?) align 32", "the bytes of a row are not known to be adjacent in memory"),
    ],
)
def test_remark_about_bytes_that_tma_does_not_unpack(order, declared_a, reason):
    constant = "None" if order is None else "(0, 1)"
    signature = f"A: {declared_a}, B: f8E4M3FN[?,?], C: f32[?,?], order={constant}"
    compiled = tilec.compile(product_of_strided_bytes, target="sm_100a", signature=signature)
    assert f"TMA does not load the left operand: {reason}" in "\n".join(map(str, compiled.all_remarks))
