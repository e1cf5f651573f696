"""Analyses of divisibility by powers of two and of intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tilec.dialect.mlir import context, ir
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.divisibility import UNBOUNDED, divisibility
from tilec.text_input.module import Module

HEADER = (
    "cuda_tile.module @m { entry @k(%n: tile<i32>, %p: tile<ptr<f16>>, %c: tile<i1>) {"
    " %n16 = assume div_by<16>, %n : tile<i32> %p32 = assume div_by<32>, %p : tile<ptr<f16>>"
    " %small = assume bounded<3, 10>, %n : tile<i32> %positive = assume bounded<0, ?>, %n : tile<i32>"
    " %three = constant <i32: 3> : tile<i32> %twelve = constant <i32: 12> : tile<i32>"
    " %zero = constant <i32: 0> : tile<i32> %four = constant <i32: 4> : tile<i32> %v = iota : tile<8xi32> "
)


def analysed(body: str, analysis: Callable[[ir.Value], Any]) -> Any:
    """The result of the analysis for the first operand of the last print or ptr_to_int of a body."""
    module = Module.parse(f"{HEADER}{body} }} }}")
    found = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in ("cuda_tile.print_tko", "cuda_tile.ptr_to_int"):
            found.append(operation.operands[0])
        return ir.WalkResult.ADVANCE

    with context():
        module.ir.operation.walk(visit)
        return analysis(found[-1])


def shown(value: str, type: str = "tile<i32>") -> str:
    return f'print_tko "%d", {value} : {type} -> token'


def binary(operation: str) -> str:
    return f"%r = {operation} : tile<i32> {shown('%r')}"


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("addi %n, %n", 1),
        ("addi %n16, %n16", 16),
        ("addi %n16, %twelve", 4),
        ("subi %n16, %three", 1),
        ("addi %n16, %zero", 16),
        ("muli %n16, %four", 64),
        ("muli %n, %twelve", 4),
        ("shli %n16, %three", 128),
        ("divi %n16, %four signed", 4),
        ("divi %n16, %three signed", 1),
        ("remi %n16, %twelve signed", 4),
        ("andi %n, %twelve", 4),
        ("ori %n16, %twelve", 4),
        ("maxi %n16, %twelve signed", 4),
        ("negi %n16", 16),
    ],
)
def test_divisors_of_arithmetic(operation: str, factor: int) -> None:
    assert analysed(binary(operation), divisibility) == factor


def test_divisor_of_zero_is_unbounded() -> None:
    assert analysed(binary("addi %zero, %zero"), divisibility) == UNBOUNDED


def test_assumptions_combine() -> None:
    assert analysed(f"%a = assume bounded<0, ?>, %n16 : tile<i32> {shown('%a')}", divisibility) == 16
    assert analysed(f"%a = assume div_by<4>, %n16 : tile<i32> {shown('%a')}", divisibility) == 16


def test_assumption_about_groups_does_not_hold_for_elements() -> None:
    text = f"%a = assume div_by<8, every 4 along 0>, %v : tile<8xi32> {shown('%a', 'tile<8xi32>')}"
    assert analysed(text, divisibility) == 1


def test_divisors_of_pointers_are_in_bytes() -> None:
    moved = (
        "%q = offset %p32, {} : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>"
        " %i = ptr_to_int %q : tile<ptr<f16>> -> tile<i64>"
    )
    assert analysed(moved.format("%n16"), divisibility) == 32
    assert analysed(moved.format("%twelve"), divisibility) == 8
    assert analysed(moved.format("%three"), divisibility) == 2


def test_induction_variables() -> None:
    loop = "for %i in ({} to %n, step {}) : tile<i32> {{ " + shown("%i") + " }}"
    assert analysed(loop.format("%zero", "%n16"), divisibility) == 16
    assert analysed(loop.format("%twelve", "%n16"), divisibility) == 4
    assert analysed(loop.format("%zero", "%n"), divisibility) == 1


def test_carried_values_are_unknown() -> None:
    loop = (
        "%f = for %i in (%zero to %n, step %n) : tile<i32> iter_values(%a = %n16) -> (tile<i32>) {"
        f" {shown('%a')} continue %i : tile<i32> }}"
    )
    assert analysed(loop, divisibility) == 1


def test_extents_of_views() -> None:
    view = (
        "%t = make_tensor_view %p, shape = [24, %n16, %n], strides = [1, 1, 1]"
        " : tile<i32> -> tensor_view<24x?x?xf16, strides=[1,1,1]>"
        " %e:3 = get_tensor_shape %t : tensor_view<24x?x?xf16, strides=[1,1,1]> -> tile<i32> "
    )
    assert [analysed(view + shown(f"%e#{axis}"), divisibility) for axis in range(3)] == [8, 16, 1]


def test_branches_have_the_smaller_divisor() -> None:
    branch = "%r = if %c -> (tile<i32>) { yield %n16 : tile<i32> } else { yield %four : tile<i32> } "
    assert analysed(branch + shown("%r"), divisibility) == 4


INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


@pytest.mark.parametrize(
    ("operation", "interval"),
    [
        ("addi %n, %three", (INT_MIN, INT_MAX)),
        ("addi %small, %three", (6, 13)),
        ("subi %small, %small", (-7, 7)),
        ("muli %small, %twelve", (36, 120)),
        ("addi %positive, %three", (INT_MIN, INT_MAX)),
        ("maxi %n, %three signed", (3, INT_MAX)),
        ("mini %positive, %three signed", (0, 3)),
        ("mini %n, %three unsigned", (INT_MIN, INT_MAX)),
        ("divi %small, %three signed", (1, 3)),
        ("divi %small, %three signed rounding<positive_inf>", (1, 4)),
        ("divi %n, %three signed", (-715827882, 715827882)),
        ("divi %n, %three signed rounding<negative_inf>", (-715827883, 715827882)),
        ("divi %n, %three signed rounding<positive_inf>", (-715827882, 715827883)),
        ("divi %n, %three unsigned", (INT_MIN, INT_MAX)),
        ("divi %n, %small signed", (INT_MIN // 3 + 1, INT_MAX // 3)),
        ("remi %positive, %three signed", (0, 2)),
        ("remi %small, %n signed", (0, 10)),
        ("remi %n, %three signed", (INT_MIN, INT_MAX)),
    ],
)
def test_intervals(operation: str, interval: tuple[int, int]) -> None:
    assert analysed(binary(operation), bounds) == interval


def test_branch_without_yield_is_ignored() -> None:
    """The result is that of the other branch, and unbounded if neither branch yields."""
    leaving = "loop {{ %r = if %c -> (tile<i32>) {{ {} }} else {{ break }} {} break }}"
    assert analysed(leaving.format("yield %twelve : tile<i32>", shown("%r")), divisibility) == 4
    assert analysed(leaving.format("continue", shown("%r")), divisibility) == UNBOUNDED


def test_interval_of_the_grid_and_of_assumptions() -> None:
    ids = "%x, %y, %z = get_tile_block_id : tile<i32> "
    assert analysed(ids + shown("%y"), bounds) == (0, (1 << 24) - 2)
    assert analysed(shown("%small"), bounds) == (3, 10)
    assert analysed(shown("%v", "tile<8xi32>"), bounds) == (0, 7)


@pytest.mark.parametrize(
    ("text", "type", "interval"),
    [
        ("%r = exti %n signed : tile<i32> -> tile<i64>", "tile<i64>", (INT_MIN, INT_MAX)),
        ("%r = exti %n unsigned : tile<i32> -> tile<i64>", "tile<i64>", (0, (1 << 32) - 1)),
        ("%r = exti %small unsigned : tile<i32> -> tile<i64>", "tile<i64>", (3, 10)),
        ("%r = trunci %small : tile<i32> -> tile<i8>", "tile<i8>", (3, 10)),
        ("%r = trunci %n : tile<i32> -> tile<i8>", "tile<i8>", (-128, 127)),
        ("%r = select %c, %small, %twelve : tile<i1>, tile<i32>", "tile<i32>", (3, 12)),
        ("%r = constant <i32: [5, -2]> : tile<2xi32>", "tile<2xi32>", (-2, 5)),
        ("%r = constant <i8: 255> : tile<i8>", "tile<i8>", (-1, -1)),
        ("%r = constant <i1: true> : tile<i1>", "tile<i1>", (-1, -1)),
        ("%r = constant <i1: [true, false]> : tile<2xi1>", "tile<2xi1>", (-1, 0)),
        ("%x, %y, %r = get_num_tile_blocks : tile<i32>", "tile<i32>", (1, (1 << 24) - 1)),
    ],
)
def test_intervals_through_other_operations(text: str, type: str, interval: tuple[int, int]) -> None:
    assert analysed(f"{text} {shown('%r', type)}", bounds) == interval


def test_interval_of_an_induction_variable() -> None:
    assert analysed(f"for %i in (%zero to %twelve, step %n) : tile<i32> {{ {shown('%i')} }}", bounds) == (0, 11)
    assert analysed(f"for unsigned %i in (%zero to %twelve, step %n) : tile<i32> {{ {shown('%i')} }}", bounds) == (
        INT_MIN,
        INT_MAX,
    )
