"""The checks of native launches on a GPU pass with a driver that adds arrays in host memory, and find wrong results."""

from __future__ import annotations

from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAM = f"""
import sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import h200_launches
from tilec.signature import parse

h200_launches.TIMED_ROUNDS = 1
metadata = metadata_of(parse("a: f32[?], b: f32[?], c: f32[?]"), "sm_90a")
print(h200_launches.check_launches(Artifact(metadata, cubin=b"\\x7fELF"), 0))
print(ct.launch_counts())
"""
CHECKS = ["streams", "programmatic_launch", "events", "graph", "threads"]


def test_checks_pass_where_launches_are_right(run_program) -> None:
    lines = run_program(PROGRAM, NULL_DRIVER_MAJOR="9", NULL_DRIVER_ADDS="1")
    assert lines[:5] == [f"{check}: PASSED" for check in CHECKS]
    assert [line.partition(":")[0] for line in lines[5:8]] == ["native launch", "launcher", "Python path"]
    assert lines[8] == "0" and "'first launch of a specialization': 1}" in lines[9]


def test_checks_fail_where_nothing_is_added(run_program) -> None:
    lines = run_program(PROGRAM, NULL_DRIVER_MAJOR="9")
    assert lines[:5] == [f"{check}: FAILED" for check in CHECKS]
    assert lines[8] == "1"
