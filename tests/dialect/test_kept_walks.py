"""Walks are kept in a compile, but not beyond a change of the operations, and readers share no Python object."""

from pathlib import Path

import pytest

import tilec
from tilec.dialect import walk
from tilec.dialect.mlir import context, ir
from tilec.dialect.walk import kept_walk, view_of, walked, walks_are_kept
from tilec.lowering.upstream_passes import run_upstream

# Golden kernels.
KERNELS = Path(__file__).parents[1] / "golden" / "kernels.py"
SIGNATURES = {
    "matmul": "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm=128, tn=128, tk=64",
    "row_sum": "x: f32[?,?], y: f32[?], rows=32, columns=64",
    "chained_multiplies": "Q: f16[?,?], K: f16[?,?], V: f16[?,?], Y: f16[?,?%8], tm=128, tn=64, d=64",
}
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
        before = [hash(op) for op in walk.operations_inside(module.operation)]
        assert [hash(op) for op in walk.operations_in(module.body)] == before
        assert kept_walk(module.operation) is kept_walk(module.operation)
        CHANGES[change](module)
        after = walk.operations_inside(module.operation)
        assert after == walked(module.operation)[1:]
        assert walk.operations_in(module.body) == after
    assert [hash(op) for op in after] != before


def test_a_new_module_drops_the_walks(module):
    with walks_are_kept():
        kept = kept_walk(module.operation)
        ir.Module.parse(TEXT)
        assert kept_walk(module.operation) is not kept


def test_readers_share_no_objects(module):
    with walks_are_kept():
        lists = [walk.operations_inside(module.operation) for _ in range(3)]
        assert lists[0] == lists[1] == lists[2]
        erased, others = lists[0][2], [operations[2] for operations in lists[1:]]
        assert all(other is not erased for other in others) and others[0] is not others[1]
        erased.erase()
        # The bindings refuse the object whose operation was erased, but not the other objects of the operation.
        with pytest.raises(RuntimeError, match="invalidated"):
            print(erased.name)
        assert others[0] == others[1]


@pytest.mark.parametrize("is_kept", [False, True])
def test_names_are_those_of_the_operations(module, is_kept):
    with walks_are_kept() if is_kept else context():
        for _ in range(2):
            assert [op.name for op in walk.operations_named(module, ("arith.constant",))] == ["arith.constant"] * 2
        assert [op.name for op in walk.operations_named(module, lambda op: op.name == "arith.addi")] == ["arith.addi"]


def test_innermost_first(module):
    with walks_are_kept():
        for _ in range(2):
            assert walk.operations_named(module, lambda op: True, innermost_first=True)[-1] == module.operation
            assert walk.operations_named(module, lambda op: True)[0] == module.operation


def test_views_have_the_classes_of_the_bindings(module):
    for op in walked(module.operation):
        for _ in range(2):
            assert type(view_of(op)) is type(op.opview)
            assert view_of(op) == op


def test_no_walk_is_kept_outside(module):
    assert kept_walk(module.operation) is not kept_walk(module.operation)
    with walks_are_kept():
        kept_walk(module.operation)
    assert not walk._kept


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_kept_walks_of_a_compile_equal_new_ones(monkeypatch, target):
    used = []

    class Compared(dict):
        """Compares each list with a new one where a reader takes it."""

        def get(self, key):
            found = super().get(key)
            if found is not None:
                used.append(key)
                new = [op.operation for op in key.operations] if isinstance(key, ir.Block) else walked(*key)
                assert found._addresses and [walk._AT_ADDRESS(each) for each in found._addresses] == new
                assert found.named() == [op.name for op in new]
            return found

    monkeypatch.setattr(walk, "_kept", Compared())
    for name, signature in SIGNATURES.items():
        tilec.compile(f"{KERNELS}:{name}", signature=signature, target=target, stop="ptx")
    assert len(used) > 50
