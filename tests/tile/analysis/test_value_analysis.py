"""Facts about values are computed once while they are kept, and again after they are forgotten."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.value_analysis import analyze, forget_facts, kept_facts
from tilec.text_input.module import Module

SUMS = """cuda_tile.module @m { entry @k(%x: tile<i32>) {
  %a = addi %x, %x : tile<i32>
  %b = addi %a, %x : tile<i32>
  return
} }"""


def test_facts_are_kept_and_forgotten() -> None:
    module = Module.parse(SUMS)
    first, second = (op.operation for op in operations_named(module.ir, ("cuda_tile.addi",)))
    seen: list[ir.Value] = []

    def depth(value: ir.Value, of: Callable[[ir.Value], int]) -> int:
        seen.append(value)
        return 0 if isinstance(value.owner, ir.Block) else 1 + max(map(of, value.owner.operation.operands))

    argument, a, b = first.operands[0], first.results[0], second.results[0]
    for _ in range(2):
        assert analyze(b, depth) == 2
    assert seen == [b, a, argument] * 2
    seen.clear()
    with kept_facts():
        assert [analyze(value, depth) for value in (a, b, a)] == [1, 2, 1]
        assert seen == [a, argument, b]
        forget_facts(first)
        assert analyze(b, depth) == 2
        assert analyze(a, depth) == 1
        assert seen == [a, argument, b, a]
        forget_facts()
        assert analyze(b, depth) == 2
        assert seen == [a, argument, b, a, b, a, argument]
