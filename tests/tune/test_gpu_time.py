"""Times by CUDA events, with the recording driver: a launch takes one microsecond per block."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ml_dtypes
import numpy as np
import tilec as ct

@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), tile) * 2)

class OnDevice:
    def __init__(self, array):
        data = array.ctypes.data, False
        self.array = array
        self.__cuda_array_interface__ = dict(version=3, data=data, shape=array.shape, typestr="<f4")

x = OnDevice(np.ones(1024, np.float32))
try:
    result = ct.tune.exhaustive_search(
        [64, 256, 128], 0x77, lambda tile: ct.cdiv(1024, tile), double, lambda tile: (ARRAY, tile), OPTIONS)
except ct.TileError as error:
    raise SystemExit(print(str(error).replace("\\n", " ")))
print([(m.config, round(m.mean_us, 3), m.num_samples, round(m.error_margin_us, 3)) for m in result.ranked()])
print([(config, kind.__name__, message) for config, kind, message in result.failures])
"""


@pytest.fixture
def recorded(recording_driver: Path, tmp_path: Path):
    """The lines that the driver and a search print."""

    def run(array: str = "x", options: str = "jobs=1", **settings: str) -> list[str]:
        program = PROGRAM.replace("ARRAY", array).replace("OPTIONS", options)
        environment = {"LD_LIBRARY_PATH": str(recording_driver), "PYTHONUNBUFFERED": "1", "RECORDED_ONLY": "1"}
        folders = {"TILEC_CACHE": str(tmp_path / "cache"), "TILEC_CACHE_SIZE": str(1 << 20)}
        process = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, **environment, **folders, **settings},
        )
        assert process.returncode == 0, process.stderr
        return process.stdout.splitlines()

    return run


def test_runs_are_timed_in_the_stream_after_the_l2_is_flushed(recorded) -> None:
    lines = recorded()
    assert "3 succeeded, 0 failed" in lines and "  timer: CUDA events" in lines
    assert lines[-2:] == ["[(256, 4.0, 5, 0.0), (128, 8.0, 5, 0.0), (64, 16.0, 5, 0.0)]", "[]"]
    # Three runs without a sample and five samples per configuration.
    assert len([line for line in lines if line.startswith("launch grid")]) == 3 * 8
    launched = next(index for index, line in enumerate(lines) if line.startswith("launch grid"))
    flushes = "set 2097152 bytes to 0 in stream 0x77"
    around = [line for line in lines[launched - 4 : launched + 4] if not line.startswith(("load", "func", "param"))]
    assert around[-4:] == ["event in stream 0x77", lines[launched], "event in stream 0x77", "wait for event"]
    assert flushes in lines[:launched]


def test_data_may_stay_in_the_l2(recorded) -> None:
    lines = recorded(options="jobs=1, flush_l2=False")
    # Each timed run follows one that is not timed.
    assert len([line for line in lines if line.startswith("launch grid")]) == 2 * 3 * 8


def test_host_arrays_are_copied_before_the_run(recorded) -> None:
    lines = recorded(array="x.array", options="jobs=1, backend='launch', target='sm_90a'")
    first = next(index for index, line in enumerate(lines) if line.startswith("event"))
    end = lines.index("wait for event")
    assert "to device 4096" in lines[:first]
    assert not [line for line in lines[first:end] if line.startswith("to device")]


def test_host_arrays_of_bfloat16(recorded) -> None:
    lines = recorded(
        array="x.array.astype(ml_dtypes.bfloat16)", options="jobs=1, backend='launch', target='sm_90a', quiet=True"
    )
    assert lines[-1] == "[]"


def test_times_are_kept(recorded) -> None:
    before = recorded()
    after = recorded()
    assert not [line for line in after if line.startswith("launch grid")]
    assert after[-2:] == before[-2:]


def test_run_that_does_not_end_is_a_failure(recorded) -> None:
    # No event is reached, so no configuration succeeds.
    lines = recorded(options="jobs=1, single_run_timeout_sec=0.05", RECORDED_ENDLESS="1")
    assert (
        "error: No valid config found in search space: all 3 failed; config 64: TileLaunchTimeoutError: " in lines[-1]
    )
    assert "the kernel did not end in 0.05 s: the GPU still runs it" in lines[-1]
    # After a run that does not end, the GPU cannot run another.
    assert len([line for line in lines if line.startswith("launch grid")]) == 1
