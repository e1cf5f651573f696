"""The pass simplify applies identities of operations that move or choose elements."""

from __future__ import annotations

import pytest
from checked_rewrites import COUNT, check, kernel, simplified

from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

M, N = "tile<16x32xi32>", "tile<32x16xi32>"
SHAPE = [
    (f"%m = reshape %x : T -> {M} %r = reshape %m : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [1, 0] : {M} -> {N} %q = permute %p [1, 0] : {N} -> {M}"
     f" %r = reshape %q : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [0, 1] : {M} -> {M} %r = reshape %p : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [1, 0] : {M} -> {N} %r = reshape %p : {N} -> T", ["permute"]),
    ("%m = reshape %x : T -> tile<4x4x32xi32> %p = permute %m [1, 2, 0] : tile<4x4x32xi32> -> tile<4x32x4xi32>"
     " %q = permute %p [1, 2, 0] : tile<4x32x4xi32> -> tile<32x4x4xi32> %r = reshape %q : tile<32x4x4xi32> -> T",
     ["permute"]),
    ("%z = constant <i32: 0> : tile<i32> %r = extract %x[%z] : T -> T", []),
    ("%z = constant <i32: 1> : tile<i32> %c = cat %x, %y dim = 0 : T, T -> tile<1024xi32>"
     " %r = extract %c[%z] : tile<1024xi32> -> T", []),
    ("%z = constant <i32: 0> : tile<i32> %c = cat %x, %y dim = 0 : T, T -> tile<1024xi32>"
     " %r = extract %c[%z] : tile<1024xi32> -> T", []),
    ("%z = constant <i32: 0> : tile<i32> %r = insert %x, %y[%z] : T, T", []),
    ("%f = bitcast %x : T -> tile<512xf32> %r = bitcast %f : tile<512xf32> -> T", []),
    ("%b = pack %x : T -> tile<2048xi8> %r = unpack %b : tile<2048xi8> -> T", []),
    ("%c = constant <i1: true> : tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T", []),
    ("%c = constant <i1: false> : tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T", []),
    ("%c = cmpi less_than %x, %y, signed : T -> tile<512xi1> %r = select %c, %x, %x : tile<512xi1>, T", []),
    ("%c = cmpi less_than %x, %y, signed : T -> tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T",
     ["cmpi", "select"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "remaining"), SHAPE)
def test_operations_that_move_elements(body: str, remaining: list[str]) -> None:
    check(body, "i32", "i32", remaining)


def test_select_between_true_and_false_is_its_condition() -> None:
    bits = f"tile<{COUNT}xi1>"
    constants = f"%t = constant <i1: true> : {bits} %f = constant <i1: false> : {bits}"
    body = f"{constants} %c = cmpi less_than %x, %y, signed : T -> {bits} %r = select %c, %t, %f : {bits}, {bits}"
    check(body, "i32", "i1", ["cmpi"])


def test_broadcast_twice() -> None:
    body = """%i = constant <i32: 0> : tile<i32> %p = extract %x[%i] : T -> tile<1xi32>
      %q = reshape %p : tile<1xi32> -> tile<1x1xi32> %b = broadcast %q : tile<1x1xi32> -> tile<16x1xi32>
      %d = broadcast %b : tile<16x1xi32> -> tile<16x32xi32>
      %e = reshape %d : tile<16x32xi32> -> T %r = addi %e, %y : T"""
    expected = simplified(kernel("%r = addi %x, %y : T", "i32", "i32")).to_text()
    assert simplified(kernel(body, "i32", "i32")).to_text().count("broadcast") == expected.count("broadcast") + 1
    check(body, "i32", "i32", ["extract", "addi"])


def test_pass_is_idempotent() -> None:
    for body, _ in SHAPE:
        text = kernel(body, "i32", "i32")
        once = simplified(text)
        again = Module.parse(once.to_text())
        run(again.ir, ("simplify", "canonicalize"), evaluate=evaluate)
        assert again.to_text() == once.to_text()
