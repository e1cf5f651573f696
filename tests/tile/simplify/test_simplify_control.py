"""The pass simplify-control removes branches, loops and carried values and preserves results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

T, STORE = "tile<i32>", "store_ptr_tko weak %p, {} : tile<ptr<i32>>, tile<i32> -> token"
HEADER = (
    " ".join(f"%k{number} = constant <i32: {number}> : tile<i32>" for number in (0, 1, 2, 3, 9))
    + " %minus = constant <i32: -1> : tile<i32> %yes = constant <i1: true> : tile<i1>"
    + " %no = constant <i1: false> : tile<i1>"
)


def parsed(body: str) -> Module:
    arguments = "%p: tile<ptr<i32>>, %n: tile<i32>, %c: tile<i1>"
    return Module.parse(f"cuda_tile.module @m {{ entry @k({arguments}) {{ {HEADER} {body} }} }}")


def stored(module: Module, n: int, c: int) -> int:
    found = np.array([77], np.int32)
    interpret(module.ir, "k", 1, [found.ctypes.data, n, c])
    return int(found[0])


def remaining(body: str) -> list[str]:
    """The operations after the pass except constants and the end; asserts equal results for several arguments."""
    module = parsed(body)
    run(module.ir, ("simplify-control", "canonicalize"), evaluate=evaluate)
    module.verify()
    for n in (-3, 0, 1, 5):
        for c in (0, 1):
            assert stored(module, n, c) == stored(parsed(body), n, c)
    once = module.to_text()
    run(module.ir, ("simplify-control", "canonicalize"), evaluate=evaluate)
    assert module.to_text() == once
    found = [re.sub(r"^[-%\w:, ]+ = ", "", line.strip()).split(" ")[0] for line in once.splitlines()[2:-2]]
    return [name for name in found if name not in ("constant", "return", "}")]


def branch(condition: str, result: str = "%r") -> str:
    """An if that yields a sum or a value."""
    return f"{result} = if {condition} -> ({T}) {{ %a = addi %n, %k1 : {T} yield %a : {T} }} else {{ yield %n : {T} }} "


class TestIf:
    def test_true_condition(self) -> None:
        assert remaining(branch("%yes") + f"%t = {STORE.format('%r')}") == ["addi", "store_ptr_tko"]

    def test_false_condition(self) -> None:
        assert remaining(branch("%no") + f"%t = {STORE.format('%r')}") == ["store_ptr_tko"]

    def test_false_condition_without_an_else(self) -> None:
        assert remaining(f"if %no {{ %t = {STORE.format('%k1')} }}") == []

    def test_unknown_condition_is_kept(self) -> None:
        assert remaining(branch("%c") + f"%t = {STORE.format('%r')}")[0] == "if"

    def test_nested_branches(self) -> None:
        inner = branch("%no", "%q")
        text = f"%r = if %yes -> ({T}) {{ {inner} yield %q : {T} }} else {{ yield %k1 : {T} }}"
        text += f" %t = {STORE.format('%r')}"
        assert remaining(text) == ["store_ptr_tko"]

    def test_result_that_is_equal_in_both_branches(self) -> None:
        text = f"""%r:2 = if %c -> ({T}, {T}) {{ %a = addi %n, %k1 : {T} yield %n, %a : {T}, {T} }}
          else {{ yield %n, %k2 : {T}, {T} }} %s = addi %r#0, %r#1 : {T} %t = {STORE.format("%s")}"""
        assert remaining(text)[0] == "if"
        assert "-> (tile<i32>)" in simplified_text(text)

    def test_unused_result(self) -> None:
        text = f"""%r:2 = if %c -> ({T}, {T}) {{ yield %n, %k1 : {T}, {T} }} else {{ yield %k3, %k2 : {T}, {T} }}
          %t = {STORE.format("%r#1")}"""
        assert "-> (tile<i32>)" in simplified_text(text)

    def test_unconditional_return_ends_the_kernel(self) -> None:
        text = f"%t = {STORE.format('%k1')} if %yes {{ return }} %u = {STORE.format('%k2')}"
        assert remaining(text) == ["store_ptr_tko"]

    def test_unconditional_break_ends_the_iteration(self) -> None:
        text = f"""%r = loop iter_values(%v = %n) : {T} -> {T} {{ %a = addi %v, %k1 : {T}
          if %yes {{ break %a : {T} }} continue %a : {T} }} %t = {STORE.format("%r")}"""
        assert "if" not in remaining(text)


def simplified_text(body: str) -> str:
    module = parsed(body)
    run(module.ir, ("simplify-control", "canonicalize"), evaluate=evaluate)
    return module.to_text()


def loop(lower: str, upper: str, step: str, kind: str = "") -> str:
    return f"""%r = for {kind} %i in ({lower} to {upper}, step {step}) : {T} iter_values(%v = %n) -> ({T}) {{
      %a = addi %v, %i : {T} continue %a : {T} }} %t = {STORE.format("%r")}"""


class TestFor:
    @pytest.mark.parametrize(
        ("lower", "upper", "step", "kind", "iterations"),
        [
            ("%k3", "%k3", "%k1", "", 0),
            ("%k3", "%k2", "%k1", "", 0),
            ("%k0", "%minus", "%k1", "", 0),
            ("%k2", "%k3", "%k1", "", 1),
            ("%k0", "%k3", "%k9", "", 1),
            ("%minus", "%k0", "%k1", "", 1),
            ("%minus", "%k3", "%k1", "unsigned", 0),
            ("%k0", "%k2", "%k1", "", 2),
            ("%k0", "%k3", "%k2", "", 2),
            ("%k0", "%n", "%k1", "", None),
        ],
    )
    def test_number_of_iterations(self, lower: str, upper: str, step: str, kind: str, iterations: int | None) -> None:
        found = remaining(loop(lower, upper, step, kind))
        assert found == {0: ["store_ptr_tko"], 1: ["addi", "store_ptr_tko"]}.get(iterations, found)
        assert ("for" in found) == (iterations not in (0, 1))

    def test_unknown_step_is_kept(self) -> None:
        assert "for" in simplified_text(loop("%k0", "%k1", "%n"))

    def test_one_iteration_with_an_early_continue_is_kept(self) -> None:
        text = f"""%r = for %i in (%k0 to %k1, step %k1) : {T} iter_values(%v = %n) -> ({T}) {{
          if %c {{ continue %k2 : {T} }} %a = addi %v, %k1 : {T} continue %a : {T} }} %t = {STORE.format("%r")}"""
        assert remaining(text)[0] == "for"

    def test_unchanged_value_is_not_carried(self) -> None:
        text = f"""%r:2 = for %i in (%k0 to %n, step %k1) : {T} iter_values(%v = %n, %w = %k9) -> ({T}, {T}) {{
          %a = addi %v, %w : {T} continue %a, %w : {T}, {T} }} %s = addi %r#0, %r#1 : {T} %t = {STORE.format("%s")}"""
        assert remaining(text)[0] == "for"
        assert simplified_text(text).count("iter_values(%iterArg0 = %arg1)") == 1

    def test_value_used_only_by_itself_is_not_carried(self) -> None:
        text = f"""%r:2 = for %i in (%k0 to %n, step %k1) : {T} iter_values(%v = %n, %w = %k9) -> ({T}, {T}) {{
          %a = addi %v, %k2 : {T} if %c {{ continue %a, %w : {T}, {T} }} continue %k3, %w : {T}, {T} }}
          %t = {STORE.format("%r#0")}"""
        assert simplified_text(text).count("iter_values(%iterArg0 = %arg1)") == 1
        remaining(text)

    def test_value_changed_by_one_of_two_continues_is_carried(self) -> None:
        text = f"""%r = for %i in (%k0 to %n, step %k1) : {T} iter_values(%v = %k9) -> ({T}) {{
          if %c {{ continue %v : {T} }} %a = addi %v, %k2 : {T} continue %a : {T} }} %t = {STORE.format("%r")}"""
        assert remaining(text)[0] == "for"
        assert "iter_values(%iterArg0 = %cst_9_i32)" in simplified_text(text)

    def test_swapped_values_are_carried(self) -> None:
        text = f"""%r:2 = for %i in (%k0 to %n, step %k1) : {T} iter_values(%v = %n, %w = %k9) -> ({T}, {T}) {{
          continue %w, %v : {T}, {T} }} %s = subi %r#0, %r#1 : {T} %t = {STORE.format("%s")}"""
        assert remaining(text)[0] == "for"
        assert "iter_values(%iterArg0 = %arg1, %iterArg1" in simplified_text(text)


class TestLoop:
    def test_unused_carried_values_and_results_are_removed(self) -> None:
        text = f"""%r:2 = loop iter_values(%v = %n, %w = %k9, %u = %k2) : {T}, {T}, {T} -> {T}, {T} {{
          %a = addi %v, %w : {T} %d = cmpi greater_than %a, %k9, signed : {T} -> tile<i1>
          if %d {{ break %a, %v : {T}, {T} }} continue %a, %w, %u : {T}, {T}, {T} }} %t = {STORE.format("%r#0")}"""
        assert remaining(text)[0] == "loop"
        assert ": tile<i32> -> tile<i32> {" in simplified_text(text)


class TestRemoveDead:
    @staticmethod
    def remaining(body: str) -> list[str]:
        module = parsed(body)
        run(module.ir, ("remove-dead",), evaluate=evaluate)
        module.verify()
        text = module.to_text()
        found = [re.sub(r"^[-%\w:, ]+ = ", "", line.strip()).split(" ")[0] for line in text.splitlines()[2:-2]]
        return [name for name in found if name not in ("return", "}")]

    @pytest.mark.parametrize(
        "removed",
        [
            "%x = addi %n, %n : tile<i32> %y = muli %x, %x : tile<i32>",
            "%x = divi %n, %n signed : tile<i32>",
            "%x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token",
            "%x = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>",
            "%x = if %c -> (tile<i32>) { %y = addi %n, %n : tile<i32> yield %y : tile<i32> }"
            " else { yield %n : tile<i32> }",
            "%r = for %i in (%k0 to %n, step %k1) : tile<i32> iter_values(%v = %n) -> (tile<i32>) {"
            " %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token continue %x : tile<i32> }",
            "if %c { }",
        ],
    )
    def test_operation_without_effects_and_uses_is_removed(self, removed: str) -> None:
        assert self.remaining(removed) == []

    @pytest.mark.parametrize(
        "kept",
        [
            STORE.format("%n"),
            "%x, %t = load_ptr_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token",
            "%x, %t = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token",
            "%x, %t = atomic_rmw_tko relaxed device %p, add, %n : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
            'assert %c, "no" : tile<i1>',
            "loop { if %c { break } }",
            f"if %c {{ %t = {STORE.format('%n')} }}",
            "if %c { return }",
        ],
    )
    def test_operation_with_effects_is_kept(self, kept: str) -> None:
        assert self.remaining(kept) != []

    def test_load_whose_token_is_used_is_kept(self) -> None:
        """The store must follow the load, although the loaded value is unused."""
        text = """%x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
          %u = store_ptr_tko weak %p, %n token = %t : tile<ptr<i32>>, tile<i32> -> token"""
        assert self.remaining(text) == ["load_ptr_tko", "store_ptr_tko"]
