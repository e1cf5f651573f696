"""Arbitrary control flow, loop-carried values and tied results: the text does what the SSA form says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tilec.dialect.mlir import context, ir
from tilec.dialect.ptx.builder import PtxBuilder, entry
from tilec.lowering.ptx.emit import emit

_spec = importlib.util.spec_from_file_location("executable_model", Path(__file__).with_name("executable_model.py"))
model = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(model)


def dominators(targets: list[list[int]]) -> list[set[int]]:
    """For each block the blocks on every path to it, by the definition; unreachable ones have all."""
    count = len(targets)
    found = [{0}] + [set(range(count)) for _ in range(count - 1)]
    changed = True
    while changed:
        changed = False
        for block in range(1, count):
            before = [found[other] for other in range(count) if block in targets[other]]
            new = {block} | set.intersection(*before) if before else set(range(count))
            changed |= new != found[block]
            found[block] = new
    return found


@st.composite
def modules(draw: st.DrawFn) -> ir.Module:
    count = draw(st.integers(2, 6))
    inner = st.integers(1, count - 1)
    targets = [draw(st.lists(inner, min_size=0 if block else 1, max_size=2)) for block in range(count)]
    kinds = [[]] + [draw(st.lists(st.sampled_from("wwp"), max_size=4)) for _ in range(count - 1)]
    above = dominators(targets)
    module = ir.Module.create(ir.Location.unknown())
    kernel = entry(module, "kernel", target="sm_90a", threads=[32])
    b = PtxBuilder(kernel)
    kind_of = {"w": b.i32, "p": b.i1}
    blocks = [b.current] + [b.block([kind_of[kind] for kind in kinds[block]]) for block in range(1, count)]
    words: list[list[ir.Value]] = [[] for _ in range(count)]
    predicates: list[list[ir.Value]] = [[] for _ in range(count)]
    # Values may only be used where their block dominates, so blocks are filled in an order in which dominators come first.
    reachable = [block for block in range(count) if block == 0 or above[block] != set(range(count)) or count == 1]
    order = sorted(range(count), key=lambda block: len(above[block]))
    for block in order:
        b.at(blocks[block])
        for argument in blocks[block].arguments:
            (words if argument.type == b.i32 else predicates)[block].append(argument)
        if block == 0:
            words[0] += [b.compute(f"mov.b32 $0, {number};", b.i32) for number in (0, 1, 3)]
            predicates[0].append(b.compute("setp.lt.u32 $0, $1, $2;", b.i1, words[0][0], words[0][1]))
        seen = [other for other in above[block] if other in reachable] if block in reachable else [0]
        word = st.deferred(lambda block=block, seen=seen: st.sampled_from(
            [value for other in dict.fromkeys([*seen, block]) for value in words[other]]))
        predicate = st.deferred(lambda block=block, seen=seen: st.sampled_from(
            [value for other in dict.fromkeys([*seen, block]) for value in predicates[other]]))
        for _ in range(draw(st.integers(0, 4))):
            choice = draw(st.sampled_from(["add", "mul", "tied", "tied", "setp", "xor", "store"]))
            if choice == "add":
                words[block].append(b.compute("add.u32 $0, $1, $2;", b.i32, draw(word), draw(word)))
            elif choice == "mul":
                words[block].append(b.compute("mul.lo.u32 $0, $1, $2;", b.i32, draw(word), draw(word)))
            elif choice == "tied":
                made = b.execute("add.u32 $0, $2, $0;", b.i32, draw(word), draw(word), tied=[0])
                # $2 is the operand after the tied one.
                words[block].append(made)
            elif choice == "setp":
                predicates[block].append(b.compute("setp.lt.u32 $0, $1, $2;", b.i1, draw(word), draw(word)))
            elif choice == "xor":
                predicates[block].append(b.compute("xor.pred $0, $1, $2;", b.i1, draw(predicate), draw(predicate)))
            else:
                b.execute("st.local.b32 [0], $0;", (), draw(word))
        b.execute("st.local.b32 [0], $0;", (), draw(word))
        passed = [[draw(word if kind == "w" else predicate) for kind in kinds[target]] for target in targets[block]]
        if not targets[block]:
            b.leave()
        elif len(targets[block]) == 1:
            b.branch(blocks[targets[block][0]], *passed[0])
        else:
            first, second = (blocks[target] for target in targets[block])
            b.cond_branch(draw(predicate), first, passed[0], second, passed[1])
    return module


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_text_does_what_the_values_say(data: st.DataObject) -> None:
    with context():
        module = data.draw(modules())
        assert module.operation.verify()
        text = emit(module)
        assert model.run_text(text) == model.run_dialect(module.body.operations[0].operation)
