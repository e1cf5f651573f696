"""Which bodies of reductions are known to commute, so that elements may be combined in any order."""

from __future__ import annotations

import pytest
from reductions import reduce, segments, yields
from simulated import elementwise, tile

from tilec.dialect.mlir import context, ir
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.ir.commutative import is_commutative
from tilec.lowering.layout.blocked import blocked

LAYOUT = blocked((4, 64), 4)
LINE = blocked((64,), 4)


def decided(body: str, elements: list[str], sources: list[str], before: str = "") -> bool:
    """Of a reduction along dimension 1."""
    types = [tile(element, LAYOUT) for element in elements]
    outcomes = [tile(element, LAYOUT.drop(1)) for element in elements]
    count = f":{len(elements)}" if len(elements) > 1 else ""
    reduction = reduce(f"%r{count}", ", ".join(sources), types, outcomes, elements, body, 1)
    first = "%r#0" if count else "%r"
    text = f"{before}\n{reduction}\n%y = arith.bitcast {first} : {outcomes[0]} to {outcomes[0]}"
    inputs = [(element, LAYOUT) for element in elements]
    with context():
        module = ir.Module.parse(elementwise(text, inputs, (elements[0], LAYOUT.drop(1))))
        (op,) = operations_named(module, ("tile_gpu.reduce",))
        return is_commutative(op.operation)


def directed(function: str) -> str:
    return f'%s = "tile_gpu.math"(%e0, %acc0) {{function = "{function}", operandSegmentSizes = {segments(2)}}}' + (
        " : (f32, f32) -> f32"
    )


ONE = {
    "sum": ("f32", "%s = arith.addf %e0, %acc0 : f32", True),
    "sum of exchanged operands": ("f32", "%s = arith.addf %acc0, %e0 : f32", True),
    "maximum": ("f16", "%s = arith.maxnumf %e0, %acc0 : f16", True),
    "unsigned minimum": ("i32", "%s = arith.minui %e0, %acc0 : i32", True),
    "directed sum": ("f32", directed("add.rz"), True),
    "directed difference": ("f32", directed("sub.rz"), False),
    "difference": ("i32", "%s = arith.subi %e0, %acc0 : i32", False),
    "twice the element": ("i32", "%s = arith.addi %e0, %e0 : i32", False),
    "greater integer": (
        "i32", "%c = arith.cmpi sgt, %e0, %acc0 : i32\n%s = arith.select %c, %e0, %acc0 : i32", True
    ),
    "not greater integer": (
        "i32", "%c = arith.cmpi ule, %e0, %acc0 : i32\n%s = arith.select %c, %acc0, %e0 : i32", True
    ),
    "greater float, of NaN and zeros": (
        "f32", "%c = arith.cmpf ogt, %e0, %acc0 : f32\n%s = arith.select %c, %e0, %acc0 : f32", False
    ),
    "unless equal": (
        "i32", "%c = arith.cmpi ne, %e0, %acc0 : i32\n%s = arith.select %c, %e0, %acc0 : i32", False
    ),
    "not zero": (
        "i32",
        "%z = arith.constant 0 : i32\n%c = arith.cmpi ne, %e0, %z : i32\n%s = arith.select %c, %e0, %acc0 : i32",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_one_operand(name):
    element, body, commutes = ONE[name]
    assert decided(f"{body}\n{yields('%s', [element])}", [element], ["%x0"]) == commutes


def test_the_accumulator_alone():
    assert not decided(yields("%acc0", ["i32"]), ["i32"], ["%x0"])


def test_sums_of_two_operands():
    body = f"""%s = arith.addf %e0, %acc0 : f32
        %t = arith.addi %e1, %acc1 : i32
        {yields("%s, %t", ["f32", "i32"])}"""
    assert decided(body, ["f32", "i32"], ["%x0", "%x1"])


INDEX = f"""%line = "tile_gpu.iota"() : () -> {tile("i32", LINE)}
    %row = "tile_gpu.reshape"(%line) : ({tile("i32", LINE)}) -> {tile("i32", LINE.reshape((1, 64)))}
    %n = "tile_gpu.broadcast"(%row) : ({tile("i32", LINE.reshape((1, 64)))}) -> {tile("i32", LAYOUT)}"""
# The greater value, then the lower index.
BEST = """%more = arith.cmpf ogt, %e0, %acc0 : f32
    %same = arith.cmpf oeq, %e0, %acc0 : f32
    %first = arith.cmpi slt, %e1, %acc1 : i32
    %both = arith.andi %same, %first : i1
    %take = arith.ori %more, %both : i1
    """
NUMBER_OR_NAN = """%none = arith.cmpf une, %e0, %e0 : f32
    %no = arith.cmpf une, %acc0, %acc0 : f32
    %number = arith.cmpf oeq, %e0, %e0 : f32
    %better = arith.andi %no, %number : i1
    %neither = arith.andi %none, %no : i1
    %earlier = arith.andi %neither, %first : i1
    %some = arith.ori %better, %earlier : i1
    %wins = arith.ori %take, %some : i1
    """


def chosen(condition: str) -> str:
    return f"""%value = arith.select {condition}, %e0, %acc0 : f32
        %index = arith.select {condition}, %e1, %acc1 : i32
        {yields("%value, %index", ["f32", "i32"])}"""


@pytest.mark.parametrize(
    ("body", "index", "commutes"),
    [
        (BEST + NUMBER_OR_NAN + chosen("%wins"), "%n", True),
        # Zeros of either sign are equal, and any index may occur twice.
        (BEST + NUMBER_OR_NAN + chosen("%wins"), "%x1", False),
        # NaN is neither greater nor equal.
        (BEST + chosen("%take"), "%n", False),
        (BEST + NUMBER_OR_NAN + chosen("%more"), "%n", False),
    ],
    ids=["position", "any index", "without NaN", "without index"],
)
def test_index_of_the_largest(body, index, commutes):
    assert decided(body, ["f32", "i32"], ["%x0", index], INDEX) == commutes
