"""Instructions of a block that needs more registers than a thread has move to before their first users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import pytest

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.lowering.ptx import order

Lines = Callable[[], list[str]]
# A thread of 128 has 255 registers: the operands and results of 150 functions are more, those of 100 are fewer.
MANY, FEW = 150, 100


@pytest.fixture
def depth_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """No groups of several instructions."""
    monkeypatch.setattr(order, "_GROUPS", ())


def load(b: PtxBuilder, number: int) -> ir.Value:
    return b.execute(f"ld.shared.f32 $0, [{4 * number}];", b.f32)


def loads(b: PtxBuilder, count: int) -> list[ir.Value]:
    return [load(b, number) for number in range(count)]


def scaled(b: PtxBuilder, values: Sequence[ir.Value]) -> list[ir.Value]:
    """x * 2^x of each value: all functions, then all products."""
    functions = [b.compute("ex2.approx.f32 $0, $1;", b.f32, value) for value in values]
    return [b.compute("mul.f32 $0, $1, $2;", b.f32, *pair) for pair in zip(functions, values, strict=True)]


def store(b: PtxBuilder, values: Sequence[ir.Value]) -> None:
    for number, value in enumerate(values):
        b.execute(f"st.local.f32 [{4 * number}], $0;", (), value)


def names(lines: Lines) -> list[str]:
    """The instructions without types and operands."""
    return [line.split(".")[0] for line in lines() if line != "ret;"]


@pytest.mark.usefixtures("depth_first")
def test_each_element_is_stored_before_the_next_is_computed(b: PtxBuilder, lines: Lines) -> None:
    store(b, scaled(b, loads(b, MANY)))
    b.leave()
    # No load moves over a store.
    first, others = ["ld", "ex2", "mul", *(MANY - 1) * ["ld"], "st"], (MANY - 1) * ["ex2", "mul", "st"]
    assert names(lines) == first + others


@pytest.mark.usefixtures("depth_first")
def test_loads_move_to_their_users_before_the_first_store(b: PtxBuilder, lines: Lines) -> None:
    values = scaled(b, loads(b, MANY))
    total = values[0]
    for value in values[1:]:
        total = b.compute("add.f32 $0, $1, $2;", b.f32, total, value)
    store(b, [total])
    b.leave()
    assert names(lines) == ["ld", "ex2", "mul"] + (MANY - 1) * ["ld", "ex2", "mul", "add"] + ["st"]


def test_groups_keep_their_order(b: PtxBuilder, lines: Lines) -> None:
    """A group of 128 instructions has 43 elements, whose functions hide the latencies of each other."""
    store(b, scaled(b, loads(b, MANY)))
    b.leave()
    most = {name: max(len(list(each)) for key, each in groupby(names(lines)) if key == name) for name in ("ex2", "st")}
    assert most == {"ex2": 43, "st": 43}


def test_elements_that_fit_keep_their_order(b: PtxBuilder, lines: Lines) -> None:
    store(b, scaled(b, loads(b, FEW)))
    b.leave()
    assert names(lines) == FEW * ["ld"] + FEW * ["ex2"] + FEW * ["mul"] + FEW * ["st"]


@pytest.mark.usefixtures("depth_first")
def test_budget_of_a_role_counts(b: PtxBuilder, lines: Lines) -> None:
    b.execute("setmaxnreg.dec.sync.aligned.u32 128;")
    store(b, scaled(b, loads(b, FEW)))
    b.leave()
    first, others = ["ld", "ex2", "mul", *(FEW - 1) * ["ld"], "st"], (FEW - 1) * ["ex2", "mul", "st"]
    assert names(lines) == ["setmaxnreg", *first, *others]


@pytest.mark.usefixtures("depth_first")
def test_nothing_moves_over_a_barrier(b: PtxBuilder, lines: Lines) -> None:
    values = scaled(b, loads(b, MANY))
    b.execute("bar.sync 0;")
    store(b, values)
    b.leave()
    assert names(lines) == MANY * ["ld", "ex2", "mul"] + ["bar"] + MANY * ["st"]


def test_pairs_are_the_registers_of_their_parts(b: PtxBuilder, lines: Lines) -> None:
    values = loads(b, FEW)
    pairs = [b.compute("mov.b64 $0, {$1, $2};", b.i64, *values[at : at + 2]) for at in range(0, FEW, 2)]
    parts = [part for pair in pairs for part in b.compute("mov.b64 {$0, $1}, $2;", (b.f32, b.f32), pair)]
    store(b, [b.compute("add.f32 $0, $1, $2;", b.f32, *each) for each in zip(values, parts, strict=True)])
    b.leave()
    assert names(lines) == FEW * ["ld"] + FEW // 2 * ["mov"] + FEW // 2 * ["mov"] + FEW * ["add"] + FEW * ["st"]
