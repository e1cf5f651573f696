"""The text of each stage of a convolution compiles to the instructions of the whole compile: PTX but `.loc`."""

from __future__ import annotations

from typing import Any

import pytest
from convolution_cases import BY_ROW, Case, covering_cases, integer_problem, kernel_of, on_targets, signature_of
from ptx_instructions import instructions

import tilec

# Every sixteenth configuration of the covering array of test_convolution; the sheet is in tests/golden.
CASES = [
    *covering_cases(320)[::16],
    Case(mode="stationary", pixel_tile=128, channels=72, outputs=9, images=15, extents="static"),
    Case(mode="weights", channels=72, outputs=9, images=15, extents="static"),
]
RUNS = on_targets(CASES)


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_each_stage_compiles_to_the_instructions_of_the_whole(case: Case, target: str) -> None:
    check(case, target, {})


@pytest.mark.parametrize("mode", [None, "run", "w", "w128", "stationary", "weights"])
def test_stages_of_a_cluster(mode: str | None) -> None:
    case = Case(mode=mode, pixel_tile=256, channels=72, outputs=9, images=15, extents="static")
    assert "nctapercluster 2" in check(case, "sm_100a", {"num_ctas": 2}).ptx


def check(case: Case, target: str, hints: dict[str, Any]) -> tilec.Compiled:
    """The whole compile."""
    signature = signature_of(case, integer_problem(case).arguments())
    hints = {**hints, "allow_unconfirmed": case.mode in ("stationary", "weights")}
    whole = tilec.compile(kernel_of(case), signature=signature, target=target, hints=hints, stop="ptx")
    for stage in ("tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir"):
        again = tilec.compile(whole.stage(stage).text, target=target, hints=hints, stop="ptx")
        assert instructions(again.ptx) == instructions(whole.ptx), stage
    return whole


def test_cases_cover_modes_and_ranks() -> None:
    assert {case.mode for case in CASES} == {None, "im2col", *BY_ROW} and {case.rank for case in CASES} == {1, 2, 3}
