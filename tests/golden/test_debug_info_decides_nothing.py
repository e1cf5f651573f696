"""Locations and names are for messages alone: without them, and with others, a kernel has the same instructions."""

from __future__ import annotations

import pytest
from debug_info import STAGES, compiled, scatter, strip, with_other_names
from ptx_instructions import instructions
from test_golden import HERE, KERNELS

import tilec
import tilec as ct

SIGNATURES, TARGETS = KERNELS.SIGNATURES, KERNELS.TARGETS


@ct.kernel
def two_products(A, B, C, D, tile: ct.Constant[int]):
    """Threads compute the operands of two equal multiplies of an iteration."""
    row = ct.bid(0)
    first, second = ct.zeros((tile, tile), ct.float32), ct.zeros((tile, tile), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tile, tile))):
        a, b = ct.load(A, (row, k), (tile, tile)), ct.load(B, (row, k), (tile, tile))
        c = ct.load(C, (k, 0), (tile, tile))
        first, second = ct.mma(a * b, c, first), ct.mma(a + b, c, second)
    ct.store(D, (row, 0), first - second)


CASES = pytest.mark.parametrize(("name", "target"), [(name, target) for name in SIGNATURES for target in TARGETS])


def source(name: str) -> str:
    return f"{HERE}/kernels.py:{name}"


@CASES
def test_locations_change_no_instruction(name: str, target: str) -> None:
    expected = compiled(source(name), SIGNATURES[name], target, strip, ())
    for stage in STAGES:
        assert compiled(source(name), SIGNATURES[name], target, strip, (stage,)) == expected, stage
    assert compiled(source(name), SIGNATURES[name], target, scatter, STAGES) == expected


@CASES
def test_names_of_values_change_no_instruction(name: str, target: str) -> None:
    made = tilec.compile(source(name), signature=SIGNATURES[name], target=target, stop="ptx")
    for stage in STAGES:
        renamed = tilec.compile(with_other_names(made.stage(stage).text), target=target, stop="ptx")
        assert instructions(renamed.ptx) == instructions(made.ptx), stage


@pytest.mark.parametrize("target", TARGETS)
def test_locations_of_equal_multiplies_change_no_instruction(target: str) -> None:
    signature = "A: f16[?,?%8], B: f16[?,?%8], C: f16[?,?%8], D: f32[?,?%8], tile=64"
    expected = compiled(two_products, signature, target, strip, ())
    for stage in STAGES:
        assert compiled(two_products, signature, target, strip, (stage,)) == expected, stage


def test_what_a_change_leaves_alone() -> None:
    text = '  ld.b32 %r1, [x];  // load_view\n\t.loc 1 2 3\n.file 1 "k.py"\n.section .debug_str {\n.b8 0\n}\n'
    assert instructions(text) == ["  ld.b32 %r1, [x];"]
    assert with_other_names('%a = ptx.compute "mov.u32 $0, %tid.x;"(%b#1)') == (
        '%other_a = ptx.compute "mov.u32 $0, %tid.x;"(%other_b#1)'
    )
