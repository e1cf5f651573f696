"""Walks over operations are kept in a compile, but not beyond a change of the operations."""

from pathlib import Path

import pytest

import tilec
from tilec.dialect import walk
from tilec.dialect.mlir import context, ir
from tilec.dialect.walk import walk_of, walked, walks_are_kept
from tilec.lowering.upstream_passes import run_upstream

MATMUL = Path(__file__).parents[2] / "benchmarks" / "matmul_kernel.py"
SIGNATURE = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64"
TEXT = """
module {
  %a = arith.constant 1 : i32
  %b = arith.constant 2 : i32
  %c = arith.addi %a, %b : i32
}
"""


@pytest.fixture
def module():
    with context(), ir.Location.unknown():
        yield ir.Module.parse(TEXT)


def created(module: ir.Module) -> None:
    with ir.InsertionPoint(module.body):
        ir.Operation.create("arith.constant", [ir.F32Type.get()], attributes={"value": ir.FloatAttr.get_f32(1.0)})


def inserted(module: ir.Module) -> None:
    type = ir.F32Type.get()
    made = ir.Operation.create("arith.constant", [type], attributes={"value": ir.FloatAttr.get_f32(1.0)})
    walk.operations_inside(module.operation)
    ir.InsertionPoint(module.body).insert(made)


CHANGES = {
    "create": created,
    "insert": inserted,
    "erase": lambda module: module.body.operations[2].operation.erase(),
    "detach": lambda module: module.body.operations[2].operation.detach_from_parent(),
    "move_before": lambda module: module.body.operations[1].operation.move_before(module.body.operations[0].operation),
    "move_after": lambda module: module.body.operations[0].operation.move_after(module.body.operations[1].operation),
    "clone": lambda module: module.body.operations[0].operation.clone(ip=ir.InsertionPoint(module.body)),
    "pass": lambda module: run_upstream("canonicalize", module),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_drops_the_walks(module, change):
    with walks_are_kept():
        before = walk.operations_inside(module.operation)
        assert walk_of(module.operation) is walk_of(module.operation)
        CHANGES[change](module)
        after = walk.operations_inside(module.operation)
        assert after == walked(module.operation)[1:]
    assert [hash(op) for op in after] != [hash(op) for op in before]


def test_names_are_those_of_the_operations(module):
    with walks_are_kept():
        for _ in range(2):
            assert [op.name for op in walk.operations_named(module, ("arith.constant",))] == ["arith.constant"] * 2
        assert [op.name for op in walk.operations_named(module, lambda op: op.name == "arith.addi")] == ["arith.addi"]


def test_no_walk_is_kept_outside(module):
    assert walk_of(module.operation) is not walk_of(module.operation)
    with walks_are_kept():
        walk_of(module.operation)
    assert not walk._kept


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_kept_walks_of_a_compile_equal_new_ones(monkeypatch, target):
    used = []

    def compared(outer):
        was_kept = outer in walk._kept
        found = walk_of(outer)
        if was_kept:
            used.append(outer.name)
            assert found.operations == walked(outer)
            assert [name for _, name in found.named()] == [op.name for op in found.operations]
        return found

    monkeypatch.setattr(walk, "walk_of", compared)
    tilec.compile(f"{MATMUL}:matmul", signature=SIGNATURE, target=target, stop="ptx")
    assert len(used) > 50
