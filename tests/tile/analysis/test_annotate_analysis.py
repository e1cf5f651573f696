"""The pass annotate-analysis writes the results of the analyses as attributes."""

from __future__ import annotations

import re

from tilec.commands.command_line import main
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

KERNEL = """cuda_tile.module @m { entry @k(%pp: tile<ptr<f16>>, %n: tile<i32>) {
  %p = assume div_by<16>, %pp : tile<ptr<f16>> %x, %y, %z = get_tile_block_id : tile<i32>
  %c = constant <i32: 128> : tile<i32> %s = muli %x, %c : tile<i32>
  %s1 = reshape %s : tile<i32> -> tile<1x1xi32> %w = broadcast %s1 : tile<1x1xi32> -> tile<8x128xi32>
  %l = iota : tile<128xi32> %l1 = reshape %l : tile<128xi32> -> tile<1x128xi32>
  %lw = broadcast %l1 : tile<1x128xi32> -> tile<8x128xi32> %o = addi %w, %lw : tile<8x128xi32>
  %u = muli %n, %n : tile<i32> %f = itof %o signed : tile<8x128xi32> -> tile<8x128xf32>
  %r = for %i in (%x to %n, step %c) : tile<i32> iter_values(%q = %p) -> (tile<ptr<f16>>) {
    %e = offset %q, %c : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>> continue %e : tile<ptr<f16>> }
} }"""


def annotated(text: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("annotate-analysis",), evaluate=evaluate)
    module.verify()
    return module


def known(text: str, operation: str) -> str:
    """The attributes in the first line of an operation."""
    return re.search(rf" = {operation} .*?\{{(tilec.*?)\}}", text)[1]


def test_values_have_their_facts() -> None:
    text = annotated(KERNEL).to_text()
    assert known(text, "assume") == 'tilec.known = "divisor 16"'
    assert known(text, "iota") == 'tilec.known = "run 128, divisor all, 0..127"'
    assert known(text, "addi") == 'tilec.known = "run [1, 128], equal [8, 1], divisor [1, 128], 0..2147483519"'
    assert known(text, "get_tile_block_id") == 'tilec.known = ["0..16777214", "0..16777214", "0..16777214"]'
    assert known(text, "itof") == 'tilec.known = "equal [8, 1]"'


def test_loops_have_the_facts_of_carried_values() -> None:
    text = annotated(KERNEL).to_text()
    assert '{tilec.known = "divisor 16", tilec.known_in_iteration = ["0..2147483646", "divisor 16"]}' in text


def test_unknown_values_and_constants_have_no_facts() -> None:
    text = annotated(KERNEL).to_text()
    assert "constant <i32: 128> : tile<i32>" in text
    assert re.search(r"muli %arg1, %arg1 : tile<i32>", text)


def test_annotations_are_replaced() -> None:
    once = annotated(KERNEL).to_text()
    assert annotated(once).to_text() == once
    other = annotated(once.replace("constant <i32: 128>", "constant <i32: 96>")).to_text()
    assert known(other, "muli").startswith('tilec.known = "divisor 32')


def test_opt_prints_the_annotations(tmp_path, capsysbinary) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    assert main(["opt", str(path), "--print-analysis", "--passes", "canonicalize"]) == 0
    printed = capsysbinary.readouterr().out.decode()
    assert known(printed, "assume") == 'tilec.known = "divisor 16"'
    assert "itof" not in printed
