"""`tileirdisasm -g` prints the debug info of written bytecode exactly like tilec."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from tile_tools import disassembled

from tilec.dialect.bytecode.version import VERSIONS
from tilec.text_input.module import Module

pytestmark = pytest.mark.peers

NAMES = """
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#other = #cuda_tile.di_compile_unit<file = <"h.py" in "/a\\22b">>
#kern = #cuda_tile.di_subprogram<file = #file, line = 3, name = "kern", linkageName = "k", compileUnit = #unit>
#helper = #cuda_tile.di_subprogram<scopeLine = 21, compileUnit = #other, linkageName = "h", name = "helper", line = 20,
                                   file = <"h.py" in "/a\\22b">>
#block = #cuda_tile.di_lexical_block<scope = #kern, file = #file, line = 5, column = 2>
#deeper = #cuda_tile.di_lexical_block<scope = #block, file = <"h.py" in "/a\\22b">, line = 6>
#start = #cuda_tile.di_loc<loc("/src/k.py":3:1) in #kern>
#inner = #cuda_tile.di_loc<loc("/src/k.py":600:700) in #deeper>
#called = #cuda_tile.di_loc<loc("h.py":22:5) in #helper>
"""
KERNELS = """
cuda_tile.module @kernels {
  entry @k(%a: tile<i32>) {
    %c = constant <i1: true> : tile<i1> loc(callsite(#called at #inner))
    %x = if %c -> (tile<i32>) {
      %b = addi %a, %a : tile<i32> loc(callsite(callsite(#called at #called) at #start))
      yield %b : tile<i32> loc(#called_from_inner)
    } else {
      yield %a : tile<i32> loc(#inner)
    } loc(#start)
    if %c {
    } loc(#inner)
    return loc(unknown)
  } loc(#start)
  entry @plain() {
    return loc(unknown)
  } loc(unknown)
  entry @second() {
    return loc(#own)
  } loc(#own)
}
#called_from_inner = loc(callsite(#called at #inner))
#second = #cuda_tile.di_subprogram<file = #file, line = 9, name = "second", linkageName = "second", compileUnit = #unit>
#own = #cuda_tile.di_loc<loc("/src/k.py":9:0) in #second>
"""


def printed(module: Module) -> list[str]:
    """The printed lines of a module without the lines of the module operation, which the disassembler omits."""
    lines = module.to_text(locations=True).splitlines()
    (end,) = (at for at, line in enumerate(lines) if line.startswith("}"))
    return [line[2:].rstrip() for line in lines[1:end]] + lines[end + 1 :]


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def lines_with_known_locations(lines: list[str]) -> list[str]:
    """The lines with operation numbers of the file, which tilec prints for unknown locations, replaced by unknown."""
    return [re.sub(r'loc\("k\.tileirbc:@\w+":\d+:0\)', "loc(unknown)", line) for line in lines]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_disassembly_equals_the_printed_module(version: Any, tmp_path: Path) -> None:
    module = Module.parse(NAMES + KERNELS)
    text = disassembled(module.to_bytecode(str(version)), tmp_path, "-g")
    assert lines_of(text) == printed(module)
    assert printed(Module.parse(text)) == printed(module)


@pytest.fixture
def cutile(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    return {name: importlib.import_module(f"cutile.{name}") for name in ("cases", "export", "kernels")}


@pytest.mark.parametrize("version", ["13.1", "13.4"])
@pytest.mark.parametrize("topic", ["add", "matmul", "attention", "layer norm"])
def test_debug_info_of_cutile_equals_its_disassembly(
    topic: str, version: str, cutile: dict[str, Any], tmp_path: Path
) -> None:
    calls = 0

    def launch(kernel: str, _grid: Any, arguments: Any) -> None:
        nonlocal calls
        content = cutile["export"].export(cutile["kernels"].KERNELS[kernel], arguments, version)
        text = disassembled(content, tmp_path, "-g")
        calls += text.count("callsite")
        read = Module.parse(content, "k.tileirbc")
        assert lines_with_known_locations(printed(read)) == lines_of(text)
        assert printed(Module.parse(text)) == lines_of(text)
        assert disassembled(read.to_bytecode(version), tmp_path, "-g") == text

    for case in cutile["cases"].CASES[topic][:2]:
        list(case(launch))
    # Functions called by a kernel are inlined.
    assert calls or topic == "add"
