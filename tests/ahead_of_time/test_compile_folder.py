"""`tilec compile --folder`: sources, manifests, processes, failures, and the index that it writes."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from kernels_folder import MODULE, SCALE, SIGNATURES, UNDEFINED

from tilec.ahead_of_time import kernel_folder
from tilec.errors import InputError


def index_of(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "index.json").read_text())["variants"]


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_directory_is_compiled_for_declared_signatures_entries_and_targets(compiled: Path) -> None:
    found = [(variant["name"], variant["signature"], variant["target"]) for variant in index_of(compiled)]
    both = ("sm_90a", "sm_100a")
    assert found == [
        *(("nothing", "", target) for target in both),
        *(("nothing_else", "", target) for target in both),
        *((f"scale_{i}", SIGNATURES[i], target) for i in (0, 1) for target in both),
    ]


def test_index_names_files_source_and_versions(compiled: Path, sources: Path) -> None:
    variant = index_of(compiled)[-1]
    assert (variant["kernel"], variant["entry"], variant["hints"]) == ("scale", "scale", {})
    assert variant["source"] == f"{sources}/scale.py:scale"
    assert variant["files"] == {
        "metadata": "scale_1.sm_100a.launch.json",
        "ptx": "scale_1.sm_100a.ptx",
        "cubin": "scale_1.sm_100a.cubin",
    }
    metadata = json.loads((compiled / variant["files"]["metadata"]).read_text())
    assert metadata["ptx_version"] == variant["versions"]["ptx"]
    assert metadata["assembler"] == variant["versions"]["assembler"]
    listed = {name for variant in index_of(compiled) for name in variant["files"].values()}
    assert {file.name for file in compiled.iterdir()} == {*listed, "index.json"}


def test_processes_write_the_same_files(compiled: Path, sources: Path, tilec_compile: Any, tmp_path: Path) -> None:
    targets = "--target", "sm_90a", "--target", "sm_100a"
    outcome = tilec_compile(sources, "--folder", tmp_path / "kernels", *targets, "--jobs", 2)
    assert (outcome.status, outcome.err) == (0, "")
    assert content(tmp_path / "kernels") == content(compiled)


def test_signatures_of_the_command_line_replace_declared_ones(
    sources: Path, tilec_compile: Any, tmp_path: Path
) -> None:
    given = "x: f32[64], y: f32[64], factor: f32, tile=64"
    command = f"{sources}/scale.py:scale", "--signature", given, "--hint", "opt_level=2", "--folder", tmp_path / "one"
    assert tilec_compile(*command).status == 0
    (variant,) = index_of(tmp_path / "one")
    assert (variant["name"], variant["signature"], variant["hints"]) == ("scale", given, {"opt_level": 2})


TOML = """
targets = ["sm_90a"]

[[kernel]]
source = "scale.py:scale"
name = "scale_by_64"
signatures = ["x: f32[?], y: f32[?], factor: f32, tile=64"]
hints = { opt_level = 2 }

[[kernel]]
source = "inner/module.mlir"
entry = "nothing"
targets = ["sm_100a"]
"""
JSON = """
{"targets": ["sm_90a"], "kernel": [
  {"source": "scale.py:scale", "name": "scale_by_64", "hints": {"opt_level": 2},
   "signatures": ["x: f32[?], y: f32[?], factor: f32, tile=64"]},
  {"source": "inner/module.mlir", "entry": "nothing", "targets": ["sm_100a"]}]}
"""


@pytest.mark.parametrize(("suffix", "text"), [("toml", TOML), ("json", JSON)])
def test_manifest_lists_sources_signatures_targets_and_hints(
    sources: Path, tilec_compile: Any, tmp_path: Path, suffix: str, text: str
) -> None:
    manifest = sources / f"kernels.{suffix}"
    manifest.write_text(text)
    assert tilec_compile("--manifest", manifest, "--folder", tmp_path / "kernels").status == 0
    found = [(variant["name"], variant["target"], variant["hints"]) for variant in index_of(tmp_path / "kernels")]
    assert found == [("scale_by_64", "sm_90a", {"opt_level": 2}), ("nothing", "sm_100a", {})]


def test_all_failures_are_reported_and_the_folder_is_unchanged(tilec_compile: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "fails.py").write_text(UNDEFINED)
    (tmp_path / "in" / "broken.mlir").write_text("cuda_tile.module @m {")
    (tmp_path / "in" / "syntax.py").write_text("(")
    (tmp_path / "in" / "unsigned.py").write_text(SCALE.replace("@ct.signatures", "#"))
    (tmp_path / "in" / "module.mlir").write_text(MODULE)
    assert tilec_compile(tmp_path / "in" / "module.mlir", "--folder", tmp_path / "out").status == 0
    before = content(tmp_path / "out")
    outcome = tilec_compile(tmp_path / "in", "--folder", tmp_path / "out")
    assert outcome.status == 1
    assert f"fails for sm_100a failed:\n{tmp_path}/in/fails.py:7:20: error: " in outcome.err
    assert f"broken for sm_100a failed:\n{tmp_path}/in/broken.mlir:" in outcome.err
    assert "syntax for sm_100a failed:" in outcome.err and "invalid Python syntax" in outcome.err
    assert "kernel 'scale' needs a signature, for example" in outcome.err
    assert outcome.err.endswith(f"error: 4 of 6 compiles failed: {tmp_path}/out is unchanged\n")
    assert content(tmp_path / "out") == before
    assert {file.name for file in tmp_path.iterdir()} == {"in", "out"}


def test_folder_of_an_earlier_compile_is_replaced(sources: Path, tilec_compile: Any, tmp_path: Path) -> None:
    for name in ("nothing", "nothing_else"):
        command = sources / "inner" / "module.mlir", "--entry", name, "--folder", tmp_path / "out"
        assert tilec_compile(*command).status == 0
    assert [variant["entry"] for variant in index_of(tmp_path / "out")] == ["nothing_else"]
    assert not [file for file in content(tmp_path / "out") if file.startswith("nothing.")]


def test_folder_with_other_content_is_not_replaced(sources: Path, tilec_compile: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    outcome = tilec_compile(sources, "--folder", tmp_path)
    assert outcome.status == 2
    assert "is not empty and has no index.json: use a new folder" in outcome.err
    assert (tmp_path / "thesis.tex").exists()


MISTAKES = {
    ("{sources}",): "is a directory: set --folder to compile its kernels",
    ("{sources}/scale.py", "{sources}/importer.py"): "expected one source, got 2: set --folder to compile several",
    ("{sources}/scale.py:scale", "--sig", "a", "--sig", "b"): "expected one --sig, got 2: set --folder",
    ("{sources}/scale.py:scale", "--jobs", "2"): "--jobs needs --folder",
    ("{sources}", "--folder", "{out}", "--jobs", "0"): "--jobs needs a positive integer, got 0",
    ("{sources}", "--folder", "{out}", "-o", "k"): "set either -o or --folder",
    ("--folder", "{out}"): "nothing to compile: name files, directories or a --manifest",
    ("{sources}", "--folder", "{out}", "--target", "sm_80"): "sm_80",
    ("{sources}", "--folder", "{out}", "--emit", "cubin"): "--emit is for one kernel: --folder writes PTX, cubin and",
    ("{sources}", "--folder", "{out}", "--locations"): "--locations is for one kernel: --folder writes PTX, cubin and",
    ("-", "--folder", "{out}"): "--folder reads files and directories, not standard input",
    (
        "{sources}/scale.py",
        "--entry",
        "shrink",
        "--folder",
        "{out}",
    ): "has no kernel 'shrink', its kernels are: 'scale'",
    ("{sources}", "--folder", "{out}", "--hint", "speed=9"): "unknown hint 'speed'",
    ("{sources}", "--folder", "{out}/a/b"): "does not exist: create it first",
    ("{sources}/scale.py", "--folder", "{sources}/scale.py"): "scale.py is a file: expected a folder",
    ("{sources}/importer.py", "--folder", "{out}"): "importer.py has no kernel",
    ("{sources}/scale.py:shrink", "--folder", "{out}"): "has no kernel 'shrink', its kernels are: 'scale'",
    ("{sources}/inner", "--sig", "x: f32", "--folder", "{out}"): "is not a Python file, and a signature is for Python",
    ("{sources}/scale.py", "{sources}/scale.py", "--folder", "{out}"): "scale_0 for sm_100a is to be compiled twice",
}


@pytest.mark.parametrize("command", MISTAKES, ids=" ".join)
def test_mistakes_on_the_command_line(
    sources: Path, tilec_compile: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    outcome = tilec_compile(*(text.format(sources=sources, out=tmp_path / "out") for text in command))
    assert outcome.status in (1, 2)
    assert MISTAKES[command] in outcome.err
    assert not (tmp_path / "out").exists()


def test_two_sources_with_a_kernel_of_one_name(sources: Path, tilec_compile: Any, tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text(SCALE)
    outcome = tilec_compile(sources / "scale.py", tmp_path / "again.py", "--folder", tmp_path / "out")
    assert outcome.status == 2
    assert "both have a kernel 'scale': compile them to two folders, or give one another name" in outcome.err


MANIFESTS = {
    "kernel = 3": "'kernel' needs a list, got 3",
    "kernel = []": "'kernel' needs at least one kernel, got []",
    "[[kernel]]": "'kernel[0]' needs a field 'source', got {}",
    "[[kernel]]\nsource = 'k.py'\nsignature = 'x: f32'": "'kernel[0]' needs no field 'signature' (known fields: ",
    "[[kernel]]\nsource = 'k.py'\nsignatures = []": "'kernel[0].signatures' needs at least one text, got []",
    "[[kernel]]\nsource = 'k.py'\nsignatures = [1]": "'kernel[0].signatures[0]' needs a string, got 1",
    "[[kernel]]\nsource = 'k.py'\nhints = { warps = 99 }": "hint 'warps': expected an integer from 1 to 32, got 99",
    "[[kernel]": "is not valid TOML: ",
}


@pytest.mark.parametrize("text", MANIFESTS)
def test_mistakes_in_a_manifest(tilec_compile: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "kernels.toml").write_text(text)
    outcome = tilec_compile("--manifest", tmp_path / "kernels.toml", "--folder", tmp_path / "out")
    assert outcome.status in (1, 2)
    assert MANIFESTS[text] in outcome.err


@pytest.mark.parametrize("name", ["../scale", "a/b", "a-b", "1a", "", "é"])
def test_name_that_files_and_c_functions_cannot_have(
    sources: Path, tilec_compile: Any, tmp_path: Path, name: str
) -> None:
    manifest = {"kernel": [{"source": str(sources / "scale.py"), "name": name}]}
    (tmp_path / "kernels.json").write_text(json.dumps(manifest))
    outcome = tilec_compile("--manifest", tmp_path / "kernels.json", "--folder", tmp_path / "out")
    assert outcome.status == 2
    assert "is not one of ASCII letters, digits and underscores, as files and C functions need" in outcome.err
    assert {file.name for file in tmp_path.iterdir()} == {"kernels.json"}


def test_file_of_a_later_stage_gives_its_name(sources: Path, tilec_compile: Any, tmp_path: Path) -> None:
    module = sources / "inner" / "module.mlir"
    stages = ["--entry", "nothing", "--emit", "gpu", "-o", tmp_path / "my-kernel.gpu.mlir"]
    assert tilec_compile(module, *stages).status == 0
    assert tilec_compile(tmp_path / "my-kernel.gpu.mlir", "--folder", tmp_path / "out").status == 0
    assert [(variant["name"], variant["entry"]) for variant in index_of(tmp_path / "out")] == [("my_kernel", "nothing")]


def test_manifest_of_another_format(tilec_compile: Any, tmp_path: Path) -> None:
    (tmp_path / "kernels.yaml").write_text("")
    outcome = tilec_compile("--manifest", tmp_path / "kernels.yaml", "--folder", tmp_path / "out")
    assert "expected a manifest with the suffix .toml or .json" in outcome.err


@pytest.mark.parametrize(
    "step", ["tilec.ahead_of_time.kernel_folder.tempfile.mkdtemp", "tilec.ahead_of_time.kernel_folder._replace"]
)
def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(step, fail)
    with pytest.raises(InputError, match=f"cannot write {tmp_path / 'out'}: Permission denied"):
        kernel_folder.write_folder(tmp_path / "out", [], [])
    assert list(tmp_path.iterdir()) == []
