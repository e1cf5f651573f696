"""`tilec compile`: compiles a kernel or the file of any stage to any later stage; exit status and messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ptx_instructions import instructions

KERNELS = Path(__file__).parent / "kernels.py"
ADD = (f"{KERNELS}:add", "--sig", "a: f32[?], b: f32[?], c: f32[?], tile=256")
STAGES = ("tile.mlir", "tile.opt.mlir", "gpu.raw.mlir", "gpu.mlir", "ptx.mlir", "ptx", "cubin")


@pytest.fixture
def written(tilec: Any, tmp_path: Path) -> Path:
    """The common stem of the files that --emit all writes for the vector addition on sm_90a."""
    assert tilec("compile", *ADD, "--target", "sm_90a", "--emit", "all", "-o", tmp_path / "add").status == 0
    return tmp_path / "add"


def test_ptx_goes_to_standard_output(tilec: Any) -> None:
    outcome = tilec("compile", *ADD)
    assert (outcome.status, outcome.err) == (0, "")
    assert ".target sm_100a" in outcome.out and ".visible .entry add(" in outcome.out


@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        ("tile", "cuda_tile.module"),
        ("tile-opt", "cuda_tile.module"),
        ("gpu-raw", "tile_gpu.kernel"),
        ("gpu", "tile_gpu.kernel"),
        ("ptx-mlir", "ptx.entry"),
        ("ptx", ".version "),
    ],
)
def test_each_text_stage_can_be_emitted(tilec: Any, emit: str, expected: str) -> None:
    assert expected in tilec("compile", *ADD, "--emit", emit).out


def test_checks(tilec: Any, tmp_path: Path) -> None:
    """The option of a compile and of a folder, and the hint of the same name."""
    assert "__assertfail" not in tilec("compile", *ADD).out
    checked = tilec("compile", *ADD, "--checks")
    assert checked.status == 0 and "__assertfail" in checked.out
    assert tilec("compile", *ADD, "--hint", "checks=on").out == checked.out
    assert tilec("compile", *ADD, "--checks", "--folder", tmp_path / "out").status == 0
    assert any("__assertfail" in file.read_text() for file in (tmp_path / "out").glob("*.ptx"))
    (tmp_path / "add.ptx").write_text(checked.out)
    again = tilec("compile", tmp_path / "add.ptx", "--checks")
    assert again.status == 2 and "is at stage 'ptx': checks are inserted into Tile IR, compile that" in again.err


def test_emit_all_writes_every_stage_and_prints_times(tilec: Any, tmp_path: Path) -> None:
    outcome = tilec("compile", *ADD, "--emit", "all", "-o", tmp_path / "add")
    expected = {f"add.{suffix}" for suffix in (*STAGES, "launch.json")}
    assert {file.name for file in tmp_path.iterdir()} == expected
    assert outcome.out.count(" ms ") == len(STAGES) + 1


@pytest.mark.parametrize("suffix", STAGES[:-2])
def test_each_stage_as_input_compiles_to_the_same_ptx(tilec: Any, written: Path, suffix: str) -> None:
    again = tilec("compile", f"{written}.{suffix}", "--target", "sm_90a")
    assert again.status == 0, again.err
    assert instructions(again.out) == instructions(Path(f"{written}.ptx").read_text())


@pytest.mark.parametrize("suffix", STAGES[:-2])
def test_each_stage_as_input_has_the_same_locations(tilec: Any, tmp_path: Path, suffix: str) -> None:
    assert tilec("compile", *ADD, "--locations", "--emit", "all", "-o", tmp_path / "add").status == 0
    again = tilec("compile", tmp_path / f"add.{suffix}")
    assert again.status == 0, again.err
    ptx, comment, _ = again.out.partition("// tilec.launch: ")
    assert (ptx, comment != "") == ((tmp_path / "add.ptx").read_text(), True)


def test_ptx_as_input_compiles_to_a_cubin_with_its_metadata(tilec: Any, written: Path, tmp_path: Path) -> None:
    text = Path(f"{written}.ptx").read_text()
    Path(f"{written}.ptx").write_text(f"// edited\n{text}")
    assert "does not match the SHA-256 in its .launch.json" in tilec("simulate", f"{written}.ptx", "--grid", 1).err
    assert tilec("compile", f"{written}.ptx", "--emit", "cubin", "-o", f"{written}.cubin").status == 0
    metadata = json.loads(Path(f"{written}.launch.json").read_text())
    assert metadata["entry"] == "add"
    assert [argument["name"] for argument in metadata["arguments"]] == ["a", "b", "c", "tile"]


def test_ptx_file_has_a_metadata_file(tilec: Any, tmp_path: Path) -> None:
    assert tilec("compile", *ADD, "-o", tmp_path / "add.ptx").status == 0
    assert {file.name for file in tmp_path.iterdir()} == {"add.ptx", "add.launch.json"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((f"{KERNELS}:add",), 2, "kernel 'add' needs a signature"),
        ((f"{KERNELS}:nothing", "--sig", "a: f32[?]"), 1, "no kernel 'nothing'"),
        ((f"{KERNELS}:add", "--sig", "a: f99[?]"), 1, "f99"),
        ((f"{KERNELS}:add", "--sig", "a: f32[?], b: f32[?], c: f32[?]"), 1, "lacks parameter 'tile'"),
        ((*ADD, "--target", "sm_20"), 2, "unknown target 'sm_20': expected one of sm_100a, sm_90a"),
        ((*ADD, "--hint", "roles=maybe"), 2, "hint 'roles': expected True or False, got 'maybe'"),
        ((*ADD, "--hint", "stages=99"), 2, "hint 'stages': expected an integer from 1 to 16, got 99"),
        ((*ADD, "--hint", "speed=9"), 2, "unknown hint 'speed': expected one of roles, pipeline, tma, "),
        ((*ADD, "--hint", "roles"), 2, "cannot parse hint 'roles': expected name=value"),
        ((*ADD, "--emit", "sass"), 2, "invalid choice: 'sass'"),
        (("nothing.mlir",), 1, "cannot read nothing.mlir: No such file or directory"),
        ((), 2, "the following arguments are required: SRC"),
    ],
)
def test_invalid_command_is_an_error(tilec: Any, arguments: tuple[str, ...], status: int, message: str) -> None:
    outcome = tilec("compile", *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_error_in_a_kernel_has_its_line(tilec: Any, tmp_path: Path) -> None:
    outcome = tilec("compile", f"{KERNELS}:mistyped", "--sig", "a: f32[?]", "-o", tmp_path / "out.ptx")
    assert outcome.status == 1
    line = 1 + KERNELS.read_text().split("(3,)")[0].count("\n")
    assert outcome.err.startswith(f"{KERNELS}:{line}:")
    assert "powers of two" in outcome.err and "^" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_stage_earlier_than_the_source_is_an_error(tilec: Any, written: Path) -> None:
    outcome = tilec("compile", f"{written}.gpu.mlir", "--emit", "tile")
    assert (outcome.status, outcome.err.strip()) == (2, f"error: {written}.gpu.mlir is at a later stage than 'tile'")


def test_source_compiled_for_another_target_is_an_error(tilec: Any, written: Path) -> None:
    outcome = tilec("compile", f"{written}.gpu.mlir", "--target", "sm_100a")
    assert (outcome.status, "is already compiled for sm_90a" in outcome.err) == (2, True)


def test_output_that_cannot_be_written_is_an_error(tilec: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = tilec("compile", *ADD, "-o", tmp_path / "file" / "add.ptx")
    assert (outcome.status, "cannot write" in outcome.err) == (1, True)


TWO_ENTRIES = """cuda_tile.module @kernels {
  entry @first(%p: tile<ptr<f32>>) { return }
  entry @second(%p: tile<ptr<f32>>, %n: tile<i32>) { return }
}
"""


def test_entry_is_selected_by_name(tilec: Any, tmp_path: Path) -> None:
    source = tmp_path / "two.mlir"
    source.write_text(TWO_ENTRIES)
    unnamed = tilec("compile", source)
    assert (unnamed.status, "select one of first, second" in unnamed.err) == (2, True)
    unknown = tilec("compile", source, "--entry", "third")
    assert (unknown.status, "no entry 'third' (entries: first, second)" in unknown.err) == (2, True)
    assert tilec("compile", source, "--entry", "second", "-o", tmp_path / "second.ptx").status == 0
    metadata = json.loads((tmp_path / "second.launch.json").read_text())
    assert metadata["arguments"] == [
        {"name": "arg0", "kind": "pointer", "element": "f32", "alignment": 1},
        {"name": "arg1", "kind": "scalar", "element": "i32", "signless": True},
    ]


def test_dump_writes_every_stage_of_every_compile(tilec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_DUMP", str(tmp_path / "dump"))
    assert tilec("compile", *ADD).status == tilec("compile", *ADD).status == 0
    suffixes = (*STAGES[:-1], "gpu.passes.diff")
    expected = [f"{number}/kernel.{suffix}" for number in ("0001", "0002") for suffix in suffixes]
    written = [str(file.relative_to(tmp_path / "dump")) for file in (tmp_path / "dump").rglob("*.*")]
    assert sorted(written) == sorted(expected)


def test_emit_all_names_files_by_the_entry(tilec: Any, tmp_path: Path) -> None:
    assert tilec("compile", *ADD, "--emit", "all", "-o", tmp_path).status == 0
    assert (tmp_path / "add.launch.json").exists() and (tmp_path / "add.cubin").exists()


def test_device_as_output_is_not_replaced(tilec: Any) -> None:
    assert tilec("compile", *ADD, "--emit", "tile", "-o", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


def test_seed_in_the_environment_must_be_a_number(tilec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_SEED", "one")
    outcome = tilec("compile", *ADD)
    assert (outcome.status, outcome.err) == (2, "error: TILEC_SEED: expected a non-negative integer, got 'one'\n")


def test_cost_is_written_to_standard_error(tilec: Any) -> None:
    outcome = tilec("compile", *ADD, "--explain", "cost")
    assert outcome.status == 0 and outcome.out == tilec("compile", *ADD).out
    assert re.search(r"^add on B200, \d+ blocks per SM\noutside of loops: [\d,]+ cycles, bound by ", outcome.err)


def test_cost_needs_stage_gpu(tilec: Any) -> None:
    outcome = tilec("compile", *ADD, "--emit", "tile", "--explain", "cost")
    assert outcome.status != 0
    assert "the report 'cost' needs stage 'gpu'" in outcome.err


def test_schedule_is_written_to_standard_error(tilec: Any) -> None:
    outcome = tilec("compile", *ADD, "--explain", "schedule")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == tilec("compile", *ADD).out
