"""`tilec tune`: the combinations of candidates, the grid, the outputs, and mistakes on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilec.commands.command_line import main
from tilec.commands.grid_expression import evaluate_grid, parse_grid
from tilec.errors import UsageError

KERNELS = """
import tilec as ct

@ct.kernel
def scale(x, y, factor, tile: ct.Constant[int], name: ct.Constant[str]):
    block = ct.bid(0), ct.bid(1)
    ct.store(y, block, ct.load(x, block, (tile, 16)) * factor)

@ct.kernel
def paired(x, y, factor, tile: ct.Constant[int], name: ct.Constant[str], pair):
    pass
"""
SIGNATURE = "x: f32[64,32], y: f32[64,32], factor: f32, name='a'"


@pytest.fixture
def tune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs `tilec tune` for the kernel with valid options, which arguments replace; returns status and outputs."""
    (tmp_path / "k.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEC_TARGET", "sm_90a")

    def run(*more: str, **changed: Any) -> SimpleNamespace:
        options = {"sig": SIGNATURE, "candidates": "tile=16,32", "grid": "cdiv(x.shape[0], tile), 2", "set": "factor=2"}
        command = ["tune", str(changed.pop("source", "k.py:scale")), "--jobs", "1"]
        for name, values in {**options, **changed}.items():
            for value in [values] if isinstance(values, str) else values:
                command += [f"--{name}", value]
        try:
            status = main([*command, *more])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return SimpleNamespace(status=status, out=captured.out, err=captured.err)

    return run


def test_table_and_plot(tune: Any) -> None:
    outcome = tune()
    assert (outcome.status, outcome.err) == (0, "")
    table, plot = outcome.out.split("\n\n")
    assert table.startswith("2 succeeded, 0 failed\n  timer: estimated from the simulator's counters, not measured\n")
    assert "* {'tile': 16}: " in table
    assert [line.partition(" |")[0] for line in plot.splitlines()] == ["{'tile': 16}", "{'tile': 32}"]


def test_json_has_all_combinations_of_candidates(tune: Any) -> None:
    outcome = tune("--json", candidates=["tile=16,32,48", "opt_level=1,3"])
    result = json.loads(outcome.out)
    assert (outcome.status, result["timer"]) == (0, "simulator")
    assert {tuple(found["config"].items()) for found in result["successes"]} == {
        (("tile", tile), ("opt_level", level)) for tile in (16, 32) for level in (1, 3)
    }
    assert [(failure["config"]["tile"], failure["error"]) for failure in result["failures"]] == [
        (48, "TileTypeError")
    ] * 2
    assert result["best"] == result["successes"][0]


def test_candidates_of_a_file(tune: Any, tmp_path: Path) -> None:
    (tmp_path / "space.json").write_text('[{"tile": 16, "tma": false}, {"tile": 32, "occupancy": 2}]')
    result = json.loads(tune("--json", candidates="space.json").out)
    assert sorted(found["config"]["tile"] for found in result["successes"]) == [16, 32]


def test_constant_text_may_be_a_candidate(tune: Any) -> None:
    signature = SIGNATURE.replace("name='a'", "tile=16")
    result = json.loads(tune("--json", sig=signature, candidates="name=a,b").out)
    assert sorted(found["config"]["name"] for found in result["successes"]) == ["a", "b"]


def test_cost_model_prunes(tune: Any) -> None:
    outcome = tune(candidates="tile=16,64", prune="2.0", grid="cdiv(x.shape[0], tile), 1")
    assert "1 succeeded, 0 failed, 1 pruned" in outcome.out


def test_plot_is_written(tune: Any, tmp_path: Path) -> None:
    assert tune(plot="times.svg").status == 0
    image = (tmp_path / "times.svg").read_text()
    assert image.startswith("<svg ") and image.count("<rect ") == 2


MISTAKES = [
    ({"source": "k.py:shrink"}, "k.py has no kernel 'shrink', its kernels are: 'scale', 'paired'"),
    ({"candidates": "tile"}, "cannot parse --candidates 'tile': expected NAME=A,B,.. or FILE.json"),
    ({"candidates": "speed=1"}, "'speed' of --candidates is neither a constant nor a hint: expected one of name,"),
    ({"candidates": ["tile=16", "name=b"]}, "'name' is in --candidates and in --sig: remove it from one of them"),
    ({"candidates": ["tile=16", "tile=32"]}, "--candidates lists 'tile' twice: give all its values at once"),
    ({"candidates": "none.json"}, "cannot read none.json: No such file or directory"),
    ({"candidates": "k.json"}, "k.json: expected a list of objects"),
    ({"candidates": "text.json"}, "text.json is not valid JSON: Expecting value: line 1 column 1 (char 0)"),
    ({"sig": f"{SIGNATURE}, pair: (i32, i32)", "source": "k.py:paired"}, "arrays, scalars and constants, got 'pair'"),
    ({"candidates": "opt_level=1"}, "parameter 'tile' has no value: add it to --sig or to --candidates"),
    ({"candidates": "tile=48"}, "No valid config found in search space"),
    ({"set": "factor=fast"}, "cannot parse --set 'factor=fast': expected NAME=NUMBER"),
    ({"set": "x=3"}, "'x' of --set is not a scalar of --sig"),
    ({"set": []}, "scalar 'factor' needs a value: add --set factor=NUMBER"),
    ({"sig": "x: f32[?], factor: f32"}, "array 'x' needs known extents, as in 'x: f16[512,512]'"),
    ({"sig": f"{SIGNATURE}, z: f32"}, "kernel 'scale' has no parameter 'z', its parameters are: x, y, factor, tile"),
    ({"sig": "x f32"}, "expected"),
    ({"grid": "1 +"}, "cannot parse the grid '1 +': expected integers, constants"),
    ({"prune": "0"}, "argument 'prune' needs a number of at least 1, got 0.0"),
    ({"target": "sm_80"}, "unknown target 'sm_80'"),
    ({"set": ["factor=2", "n=300"], "sig": f"{SIGNATURE}, n: u8"}, "kernel 'scale' has no parameter 'n'"),
    ({"set": "factor=300", "sig": SIGNATURE.replace("factor: f32", "factor: u8")}, "300 is out of range of u8"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes(tune: Any, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "k.json").write_text("{}")
    (tmp_path / "text.json").write_text("tile=16")
    outcome = tune(**change)
    assert outcome.status in (1, 2)
    assert outcome.err.startswith(("error: ", "k.py")) and message in outcome.err


def test_scheduler_that_does_not_answer(tune: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(address: str) -> None:
        raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=connect))
    outcome = tune(dask="localhost:8786")
    message = "--dask: cannot connect to the scheduler at localhost:8786: Timed out trying to connect to localhost:8786"
    assert (outcome.status, outcome.err) == (2, f"error: {message}\n")


def test_dask_is_optional(tune: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = tune(dask="localhost:8786")
    assert (outcome.status, outcome.err) == (
        2,
        "error: --dask needs the package distributed: pip install 'tilec[dask]'\n",
    )


NAMES = {"TM": 64, "C": np.zeros((100, 7)), "flag": True, "name": "a"}
GRIDS = {
    "3": (3,),
    "cdiv(C.shape[0], TM), C.shape[1]": (2, 7),
    "(TM + 1) * 2 - TM // 5 % 4, max(2, TM), min(TM, 3)": (130, 64, 3),
}


@pytest.mark.parametrize("text", GRIDS)
def test_value_of_a_grid(text: str) -> None:
    assert evaluate_grid(parse_grid(text), NAMES) == GRIDS[text]


@pytest.mark.parametrize(
    "text",
    [
        *("1.5", "TN", "flag", "name", "C", "C.shape", "C.shape[2]", "C.shape[-1]", "C.dtype[0]", "TM.real", "TM / 2"),
        *("TM // 0", "2 ** 999999999", "f(1)", "cdiv(1)", "max()", "min(*C)", "max(1, key=TM)", "(lambda: 1)()"),
        "__import__('os')",
    ],
)
def test_grid_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="grid"):
        evaluate_grid(parse_grid(text), NAMES)
