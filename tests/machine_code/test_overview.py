"""The first tables of benchmarks/machine_code.py: a line per kernel, and the figures in which tilec is behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine_code
import pytest
from sheet import compilers
from sheet.cases import CASES
from sheet.overview import behind, overview
from sheet.table import page

CASE = CASES[0]


def row(compiler: str, **more: Any) -> dict[str, Any]:
    """A row of a kernel without spills; `instructions` and all other fields can be given."""
    instructions = more.pop("instructions", 100)
    model = {"tensor_share": 0.4, "busiest": "L2", "busiest_share": 0.9, "bound": "L2"} if compiler == "tilec" else None
    names = {"kernel": "k", "target": "sm_90a", "compiler": compiler}
    return {
        **names, "seconds": 1.0, "spills_in_loops": [0, 0], "whole": {"instructions": instructions}, "model": model,
        **more,
    }  # fmt: skip


def test_a_line_has_the_figures_of_all_compilers() -> None:
    rows = [row("tilec"), row("tileiras", instructions=90, spills_in_loops=[3, 4]), row("Triton", failure="no")]
    expected = ["k", "sm_90a", "40%", "L2 90%", "L2", "100 / 90 / fails", "0+0 / 3+4 / fails", "1.00 / 1.00 / fails"]
    assert overview(rows) == [expected]
    assert overview([row("tileiras")])[0][2:5] == ["-", "-", "-"]


def test_a_kernel_that_is_equal_to_its_peer_is_not_behind() -> None:
    assert behind([row("tilec"), row("tileiras")]) == []


@pytest.mark.parametrize(
    ("fields", "factor", "figure"),
    [
        ({"failure": "error: refused"}, float("inf"), "error: refused"),
        ({"instructions": 150}, 1.5, "instructions: 150 for 100"),
        ({"seconds": 2.5}, 2.5, "compile: 2.50 s for 1.00 s"),
        ({"spills_in_loops": [2, 1]}, 4, "spills in loops: 3 for 0"),
        (
            {"model": {"busiest": "L2", "busiest_share": 0.25, "bound": "dependent operations"}},
            4,
            "the L2 works 25% of the time, bound by dependent operations",
        ),
    ],
)
def test_each_figure_that_is_behind(fields: dict[str, Any], factor: float, figure: str) -> None:
    assert behind([row("tilec", **fields), row("tileiras")]) == [(factor, "k", "sm_90a", figure)]


def test_a_compile_that_was_not_measured_is_not_compared() -> None:
    rows = [row("tilec"), row("tileiras", seconds=None)]
    assert overview(rows)[0][-1] == "1.00 / -"
    assert behind(rows) == []


def test_the_largest_factor_is_first() -> None:
    found = behind([row("tilec", instructions=200, seconds=3.0), row("tileiras")])
    assert [factor for factor, *_ in found] == [3, 2]


def test_failures_of_peers_are_no_faults_of_tilec() -> None:
    assert behind([row("tilec", instructions=200), row("tileiras", failure="refused")]) == []


def hangs(*_: Any) -> None:
    while True:
        pass


def hangs_in_a_program(*_: Any) -> None:
    process = subprocess.run([sys.executable, "-c", "while True: pass"])
    assert process.returncode == -signal.SIGXCPU
    raise TimeoutError


def ends(*_: Any) -> None:
    os._exit(3)


@pytest.mark.parametrize(
    ("compiler", "failure"),
    [
        (hangs, "takes longer than 1 s"),
        (hangs_in_a_program, "takes longer than 1 s"),
        (ends, "the process ends with exit code 3"),
    ],
)
def test_a_compiler_that_does_not_return_is_a_failure(
    compiler: Any, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(compilers.COMPILERS, "tilec", compiler)
    found = machine_code.measure((CASE, "sm_90a", "tilec"), 1)
    assert found == {"kernel": CASE.name, "target": "sm_90a", "compiler": "tilec", "failure": failure}


def test_compilers_without_the_kernel_have_no_row() -> None:
    convolution = next(case for case in CASES if case.is_tilex)
    backward = next(case for case in CASES if case.name.startswith("backward"))
    found = [
        [name for name in compilers.COMPILERS if compilers.has_kernel(name, case)]
        for case in (CASE, convolution, backward)
    ]
    assert found == [["tilec", "tileiras", "Triton"], ["tilec"], ["tilec", "tileiras"]]


def test_rows_of_the_same_versions_are_kept(tmp_path: Path) -> None:
    path, kept = tmp_path / "rows.json", {**row("tilec"), "kernel": CASE.name}
    assert machine_code.kept_rows(path, {"tilec": "1"}) == {}
    machine_code.write_json(path, {"tilec": "1"}, [kept])
    assert machine_code.kept_rows(path, {"tilec": "1"}) == {(CASE.name, "sm_90a", "tilec"): kept}
    with pytest.raises(SystemExit, match="other versions"):
        machine_code.kept_rows(path, {"tilec": "2"})
    assert json.loads(path.read_text())["rows"] == [kept]


def test_rows_without_a_time_are_measured_again() -> None:
    rows = [row("tilec"), row("tilec", failure="refused"), row("tilec", seconds=None), None]
    assert [machine_code.is_measured(each) for each in rows] == [True, True, False, False]


def test_page_has_the_versions_then_the_overview_and_the_list() -> None:
    found = page([row("tilec", failure="error: refused")], "tilec 1")
    assert "--markdown`: tilec 1.\n" in found
    assert found.index("## Overview") < found.index("## Behind") < found.index("## Code")
    assert "| inf | k | sm_90a | error: refused |" in found
