"""`tilec.compile`: accepted sources, the stop option, and the results of all stages."""

import gc
import re
from pathlib import Path
from typing import Any

import pytest

import tilec
from tilec.driver import stages
from tilec.errors import InputError, UsageError
from tilec.language.kernel import find

KERNELS = Path(__file__).parent / "kernels.py"
SCALE = "x: f32[?], y: f32[?], factor: f32, tile=128"
MATMUL = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64"
TARGETS = ("sm_100a", "sm_90a")


@pytest.fixture(scope="module")
def scale() -> Any:
    return find(KERNELS, "scale")


def test_every_stage_has_a_result_and_a_time(scale: Any) -> None:
    compiled = tilec.compile(scale, signature=SCALE)
    names = ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir", "ptx", "cubin"]
    assert [stage.name for stage in compiled.stages] == names
    assert all(stage.seconds > 0 for stage in compiled.stages)
    assert (compiled.target, compiled.metadata.entry, compiled.metadata.target) == ("sm_100a", "scale", "sm_100a")
    assert "cuda_tile.module" in compiled.tile and "tile_gpu.kernel" in compiled.gpu
    assert ".entry scale" in compiled.ptx and compiled.cubin.startswith(b"\x7fELF")


def test_stop_selects_the_last_stage(scale: Any) -> None:
    compiled = tilec.compile(scale, signature=SCALE, stop="gpu")
    assert compiled.gpu and not compiled.ptx and not compiled.cubin
    assert compiled.metadata is None
    with pytest.raises(UsageError, match="scale has no launch metadata"):
        assert compiled.artifact


@pytest.mark.parametrize("target", TARGETS)
def test_same_input_compiles_to_the_same_ptx(target: str) -> None:
    first, second = (tilec.compile(f"{KERNELS}:matmul", signature=MATMUL, target=target, stop="ptx") for _ in range(2))
    assert first.ptx == second.ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stage", ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir"])
def test_each_stage_of_a_matmul_as_input_compiles_to_the_same_ptx(target: str, stage: str) -> None:
    compiled = tilec.compile(f"{KERNELS}:matmul", signature=MATMUL, target=target, stop="ptx")
    again = tilec.compile(compiled.stage(stage).located_text, target=target, stop="ptx")
    # The output of the Tile IR passes is read as stage 'tile', and the passes do not change it.
    assert again.stages[0].name == stage.removesuffix("-opt")
    assert again.ptx == compiled.ptx
    assert again.metadata == compiled.metadata


def without_debug_info(ptx: str) -> str:
    """PTX without comments and debug info."""
    ptx = re.sub(r"//[^\n]*|^\s*\.(?:loc|file)\b.*$", "", ptx, flags=re.MULTILINE).partition(".section")[0]
    return "\n".join(line.rstrip() for line in ptx.splitlines() if line.strip())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stage", ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir"])
def test_each_stage_without_locations_compiles_to_the_same_instructions(
    target: str, stage: str, tmp_path: Path
) -> None:
    compiled = tilec.compile(f"{KERNELS}:matmul", signature=MATMUL, target=target, stop="ptx")
    text = compiled.stage(stage).text
    assert "loc(" not in text
    assert stage.startswith("tile") or max(map(len, text.splitlines())) <= 160
    path = tmp_path / "again.mlir"
    path.write_text(text)
    again = tilec.compile(path, target=target, stop="ptx")
    assert without_debug_info(again.ptx) == without_debug_info(compiled.ptx)
    # The debug info then refers to lines of the dump.
    assert "// matmul.py" not in again.ptx and f'.file 1 "{path}"' in again.ptx
    assert re.search(r"//.*again\.mlir:\d+", again.ptx)


def test_garbage_collector_is_off_until_the_last_stage_ends(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection would take as long as a stage, and would start as soon as one ends."""
    seen: list[bool] = []
    monkeypatch.setattr(stages.Dump, "write", lambda *given: seen.append(gc.isenabled()))
    tilec.compile(scale, signature=SCALE, stop="ptx")
    assert seen == [False] * 6
    assert gc.isenabled()


def test_objects_of_a_compile_are_not_visited_at_the_next_allocation(scale: Any) -> None:
    """The collector has them in the oldest generation, and nothing stays frozen."""
    compiled = tilec.compile(scale, signature=SCALE, stop="ptx")
    stage = compiled.stage("ptx")
    assert any(found is stage for found in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0


def test_module_is_a_source(scale: Any) -> None:
    compiled = tilec.compile(scale, signature=SCALE, stop="ptx")
    module = tilec.Module.parse(compiled.stage("tile").located_text)
    assert module.entries == ["scale"]
    assert tilec.compile(module, stop="ptx").ptx == compiled.ptx
    assert tilec.compile(module, entry="scale", stop="ptx").ptx == compiled.ptx


def test_compile_does_not_modify_the_module(scale: Any) -> None:
    module = tilec.Module.parse(tilec.compile(scale, signature=SCALE, stop="tile").tile)
    before = module.to_text()
    tilec.compile(module, stop="ptx")
    assert module.to_text() == before


def test_target_is_read_from_the_environment(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", "sm_90a")
    assert ".target sm_90a" in tilec.compile(scale, signature=SCALE, stop="ptx").ptx


@pytest.mark.parametrize("target", TARGETS)
def test_hints_change_the_code(target: str) -> None:
    default, *changed = (
        tilec.compile(f"{KERNELS}:matmul", signature=MATMUL, target=target, hints=hints, stop="ptx")
        for hints in ({}, {"roles": False}, {"pipeline": False}, {"tma": False}, {"stages": 2})
    )
    assert all(other.ptx != default.ptx for other in changed)
    assert "cp.async.bulk.tensor" in default.ptx and "cp.async.bulk.tensor" not in changed[2].ptx
    assert changed[3].metadata.shared_bytes < default.metadata.shared_bytes


@pytest.mark.parametrize(
    ("source", "arguments", "error", "message"),
    [
        (3, {}, UsageError, "expected a kernel, a Module, text or a path, got int"),
        ("nothing.py:k", {}, InputError, "cannot read nothing.py"),
        (f"{KERNELS}", {}, InputError, "expected one kernel in .*kernels.py, its kernels are: 'matmul', 'scale'"),
        (f"{KERNELS}:scale", {"stop": "sass"}, UsageError, "unknown stage 'sass': expected one of tile, tile-opt"),
        (f"{KERNELS}:scale", {"target": "gfx942"}, UsageError, "unknown target 'gfx942'"),
        (".version 8.0\n.address_size 64\n", {}, InputError, "has no .target directive"),
        (b"\x7fTileIR\x00\x0d", {}, InputError, "byte 9 .header.: expected a byte"),
    ],
)
def test_invalid_sources_and_options_are_errors(source: Any, arguments: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        tilec.compile(source, signature=SCALE, **arguments)
