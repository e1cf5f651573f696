"""`--json`: each command prints one object with the fields of docs/formats/json.md."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tilec.commands.command_line import COMMANDS
from tilec.process import progress

KERNELS = Path(__file__).parent / "kernels.py"
SIGNATURE = "a: f32[?], b: f32[?], c: f32[?], tile=256"
PAGE = Path(__file__).parents[2] / "docs" / "formats" / "json.md"
SCHEMAS = json.loads((Path(__file__).parent / "json_schemas.json").read_text())


@pytest.fixture
def result(tilec: Any) -> Callable[..., Any]:
    """Runs a command with --json, checks the schema of its output, and returns its fields."""

    def run(schema: str, *command: object, status: int = 0) -> Any:
        outcome = tilec(*command, "--json")
        assert outcome.status == status, outcome.err
        assert outcome.err == ""
        fields = json.loads(outcome.out)
        assert fields["schema"] == f"tilec.{schema}/1"
        jsonschema.validate(fields, {**SCHEMAS[schema], "$defs": SCHEMAS["$defs"]})
        return fields

    return run


def compiled(tmp_path: Path, tilec: Any, emit: str = "ptx") -> Path:
    path = tmp_path / f"add.{emit}"
    assert tilec("compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", emit, "-o", path).status == 0
    return path


def arguments(tmp_path: Path) -> list[object]:
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.ones(256, np.float32))
    values = [tmp_path / "a.npy", tmp_path / "b.npy", f"{tmp_path / 'c.npy'}:f32[256]"]
    return [part for value in values for part in ("--arg", value)]


def test_compile_contains_the_text_of_the_stage(result: Any) -> None:
    fields = result("compile", "compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "ptx")
    texts = {stage["name"]: stage["text"] for stage in fields["stages"]}
    assert ".entry add" in texts.pop("ptx")
    assert set(texts.values()) == {None}
    assert fields["launch"]["entry"] == "add"
    assert fields["target"] == "sm_100a"


def test_compile_to_files_names_them(result: Any, tmp_path: Path) -> None:
    fields = result("compile", "compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--emit", "all", "-o", tmp_path)
    assert all(Path(stage["file"]).exists() and stage["text"] is None for stage in fields["stages"])


def test_compile_lists_remarks_with_their_location(result: Any, tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text(
        "import tilec as ct\n@ct.kernel\ndef k(a, b):\n    t = ct.load(a, (0, 0), (64, 64))\n"
        "    ct.store(b, (0, 0), ct.mma(t, t, ct.zeros((64, 64), ct.float32)))\n"
    )
    fields = result("compile", "compile", kernel, "--sig", "a: f32[64,64], b: f32[64,64]", "--remarks=all")
    assert [(r["topic"], r["location"]["line"]) for r in fields["remarks"]][0] == ("matrix-unit", 5)
    percents = [each["percent"] for each in fields["remarks"]]
    assert percents == sorted(percents, reverse=True)
    worst = result("compile", "compile", kernel, "--sig", "a: f32[64,64], b: f32[64,64]")["remarks"]
    assert worst == [each for each in fields["remarks"] if each["percent"] >= 1]


def test_compile_explains_the_cost(result: Any) -> None:
    fields = result("compile", "compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--explain", "cost")
    (cost,) = fields["explain"]["cost"]
    assert (cost["kernel"], cost["device"]) == ("add", "B200")
    (outside,) = cost["loops"]
    # Two tiles of 256 floats are read, one is written.
    assert outside["location"] is None and outside["units"]["L2"] == round(3 * 1024 / 71, 1)


def test_compile_of_a_folder_lists_variants(result: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    fields = result("folder", "compile", f"{KERNELS}:add", "--sig", SIGNATURE, "--folder", folder)
    assert [(each["name"], each["target"]) for each in fields["variants"]] == [("add", "sm_100a")]


def test_opt(result: Any, tilec: Any, tmp_path: Path) -> None:
    module = compiled(tmp_path, tilec, "tile")
    assert "entry @add" in result("opt", "opt", module)["text"]
    assert result("opt", "opt", module, "-o", tmp_path / "k.tileirbc")["file"] == str(tmp_path / "k.tileirbc")
    assert {"name", "level", "summary"} == set(result("passes", "opt", "--list-passes")["passes"][0])


def test_simulate(result: Any, tilec: Any, tmp_path: Path) -> None:
    fields = result("simulate", "simulate", compiled(tmp_path, tilec), "--grid", 1, *arguments(tmp_path))
    assert fields["counters"]["instructions"] > 0
    assert fields["outputs"] == [str(tmp_path / "c.npy")]
    assert np.load(tmp_path / "c.npy")[0] == 2


def test_interpret(result: Any, tilec: Any, tmp_path: Path) -> None:
    module = compiled(tmp_path, tilec, "tile")
    fields = result("interpret", "interpret", module, "--grid", 1, *arguments(tmp_path))
    assert (fields["blocks"], fields["printed"]) == (1, "")


def test_dialect(result: Any) -> None:
    (operation,) = result("dialect", "dialect", "cuda_tile.mmaf")["operations"]
    assert [operand["name"] for operand in operation["operands"]] == ["lhs", "rhs", "acc"]
    assert len(result("dialect", "dialect", "cuda_tile")["operations"]) > 100
    assert "irdl.dialect" in result("irdl", "dialect", "cuda_tile", "--irdl")["irdl"]


def test_explain_line_and_back(result: Any) -> None:
    fields = result("explain", "explain", f"{KERNELS}:add", "--sig", SIGNATURE, "--line", 8)
    assert fields["location"] == {"file": str(KERNELS), "line": 8, "column": 0}
    (block_number,) = fields["ptx"]
    assert (block_number["operation"], block_number["role"]) == ("get_tile_block_id", None)
    back = result("explain_ptx", "explain", f"{KERNELS}:add", "--sig", SIGNATURE, "--ptx-line", block_number["line"])
    assert back["instruction"] == block_number
    assert (back["location"]["line"], back["source"]) == (8, "index = ct.bid(0)")


def test_info(result: Any) -> None:
    fields = result("info", "info")
    assert fields["packages"]["numpy"] == np.__version__
    assert fields["backend"]["host"] == "simulate"


def test_cache(result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    assert result("cache", "cache")["kernels"] == []
    assert result("cache", "cache", "clear")["removed"] == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(result: Any, shell: str) -> None:
    pytest.importorskip("shtab")
    script = result("completion", "completion", shell)["script"]
    assert all(command in script for command in COMMANDS)
    assert "--locations" in script or "locations" in script


def test_completion_without_shtab_names_the_extra(tilec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    outcome = tilec("completion", "bash")
    assert outcome.status == 2
    assert "pip install 'tilec[completion]'" in outcome.err


def test_error_has_its_location_and_notes(result: Any, tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text("import tilec as ct\n@ct.kernel\ndef k(x):\n    ct.store(x, 0, unknown)\n")
    fields = result("error", "compile", kernel, "--sig", "x: i32[?]", status=1)
    assert (fields["kind"], fields["message"]) == ("TileSyntaxError", "unknown name 'unknown'")
    assert fields["location"] == {"file": str(kernel), "line": 4, "column": 20}


def test_tune(result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path / "cache"))
    kernel = tmp_path / "k.py"
    kernel.write_text(
        "import tilec as ct\n@ct.kernel\ndef k(x, n: ct.Constant[int]):\n    ct.store(x, 0, ct.ones(n, ct.float32))\n"
    )
    command = ("tune", f"{kernel}:k", "--sig", "x: f32[16]", "--candidates", "n=8,16", "--grid", "1", "--jobs", "1")
    assert result("tune", *command)["timer"] == "simulator"


def test_every_command_and_field_is_documented() -> None:
    page = PAGE.read_text()
    for command in COMMANDS:
        assert f"| `{command}" in page
    for name, schema in SCHEMAS.items():
        for field in schema.get("properties", ()):
            assert f"`{field}`" in page, (name, field)


def lines_of(seconds: float) -> str:
    stream = StringIO()
    before, sys.stderr = sys.stderr, stream
    try:
        with progress.elapsed("simulate", enabled=True):
            time.sleep(seconds)
    finally:
        sys.stderr = before
    return stream.getvalue()


def test_long_work_shows_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)
    monkeypatch.setattr(progress, "PERIOD_S", 0.01)
    shown = lines_of(0.2)
    assert "simulate: 0 s" in shown and shown.endswith("\r\x1b[K")


def test_long_work_shows_the_blocks_that_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.01)
    monkeypatch.setattr(progress, "PERIOD_S", 0.01)
    monkeypatch.setattr(sys, "stderr", stream := StringIO())
    with progress.elapsed("simulate", enabled=True) as report:
        assert report is not None
        report(3, 8)
        time.sleep(0.2)
    assert "simulate: 0 s, 3 of 8 blocks" in stream.getvalue()


def test_short_work_shows_nothing() -> None:
    assert lines_of(0) == ""
