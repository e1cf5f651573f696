"""Debug info is preserved by all stages: from Python or Tile IR to bytecode, PTX and run-time error messages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec.dialect.cuda_tile.debug_info import subprogram_of
from tilec.errors import SimulationError
from tilec.text_input.module import Module

KERNELS = Path(__file__).parent / "kernels.py"
MATMUL = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64"
TARGETS = ("sm_100a", "sm_90a")
# A kernel in /src/k.py that calls a function in /src/h.py, which contains a store.
CALLS = """
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#kern = #cuda_tile.di_subprogram<file = #file, line = 3, name = "kern", linkageName = "k", compileUnit = #unit>
#put = #cuda_tile.di_subprogram<file = <"h.py" in "/src">, line = 20, name = "put", linkageName = "put@h",
                                compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #put, file = #file, line = 21>
#start = #cuda_tile.di_loc<loc("/src/k.py":3:1) in #kern>
#call = #cuda_tile.di_loc<loc("/src/k.py":6:7) in #kern>
#store = #cuda_tile.di_loc<loc("/src/h.py":22:5) in #block>
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
    %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>> loc(#start)
    %t = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token loc(callsite(#store at #call))
    return loc(#start)
  } loc(#start)
}
"""


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.mlir"
    path.write_text(CALLS)
    return path


@pytest.mark.parametrize("target", TARGETS)
def test_ptx_has_the_line_the_function_and_the_call(calls: Path, target: str) -> None:
    compiled = tilec.compile(calls, target=target)
    files = dict(re.findall(r'\.file (\d+) "(.*)"', compiled.ptx))
    number = {name: index for index, name in files.items()}
    kernel, helper = number["/src/k.py"], number["/src/h.py"]
    line = f".loc {helper} 22 5, function_name $function_names+0, inlined_at {kernel} 6 7"
    before, found, after = compiled.ptx.partition(line)
    # A separate .loc for the call precedes the .loc of the store.
    assert found and f".loc {kernel} 6 7\n" in before
    assert "// store_ptr_tko  h.py:22 (called at k.py:6)" in after and "st.global" in after.partition(".loc")[0]
    assert compiled.cubin


@pytest.mark.parametrize("stage", ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir"])
def test_every_stage_preserves_debug_info(calls: Path, tmp_path: Path, stage: str) -> None:
    compiled = tilec.compile(calls, stop="ptx")
    text = next(each.located_text for each in compiled.stages if each.name == stage)
    suffix = {"tile-opt": "tile.opt", "gpu-raw": "gpu", "ptx-mlir": "ptx"}.get(stage, stage)
    path = tmp_path / f"again.{suffix}.mlir"
    path.write_text(text)
    assert "di_subprogram" in text
    assert tilec.compile(path, stop="ptx").ptx == compiled.ptx


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_run_time_error_has_the_innermost_line(calls: Path, backend: str) -> None:
    compiled = tilec.compile(calls, stop="ptx")
    with pytest.raises(SimulationError) as caught:
        tilec.run(compiled, 1, [np.zeros(4, np.int32), 1 << 20], backend=backend)
    location = caught.value.location
    assert location is not None
    assert (location.file, location.line) == ("/src/h.py", 22)


@pytest.mark.parametrize("version", ["13.3", "13.5"])
def test_bytecode_of_a_python_kernel_has_its_lines(version: str) -> None:
    module = Module.parse(tilec.compile(f"{KERNELS}:matmul", signature=MATMUL, stop="tile").stages[0].located_text)
    read = Module.parse(module.to_bytecode(version), "k.tileirbc")
    (entry,), (again,) = module.ir.body.operations, read.ir.body.operations
    own = subprogram_of(entry.operation.location)
    assert own is not None
    assert (own.name, own.linkage_name, own.file.directory) == ("matmul", "matmul", str(KERNELS.parent))
    assert str(again.operation.location) == str(entry.operation.location)
    pairs = zip(entry.body.blocks[0].operations, again.body.blocks[0].operations, strict=True)
    assert all(str(before.location) == str(after.location) for before, after in pairs)
