"""The simulator runs PTX that nvcc compiles from CUDA C++, without a GPU, with all checks."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cuda_compiler import nvcc

from tilec.errors import SimulationError
from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, run_text

pytestmark = pytest.mark.peers

TARGETS = ("sm_90a", "sm_100a")
SEEDS = range(20)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """Compiles cuda/NAME.cu to PTX for a target; results are cached."""
    folder = tmp_path_factory.mktemp("nvcc")

    @cache
    def compile_to_ptx(name: str, target: str) -> str:
        source, ptx = Path(__file__).parent / "cuda" / f"{name}.cu", folder / f"{name}.{target}.ptx"
        subprocess.run([nvcc(), "-ptx", "-std=c++17", f"-arch={target}", "-lineinfo", source, "-o", ptx], check=True)
        return ptx.read_text()

    return compile_to_ptx


def run(ptx: str, name: str, blocks: int, threads: int, arguments: list[np.ndarray | int], settings: Settings) -> None:
    """Runs the entry `name` on arrays and 32-bit integers."""
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    values = [
        pack_value("u64", argument.ctypes.data) if isinstance(argument, np.ndarray) else pack_value("u32", argument)
        for argument in arguments
    ]
    ranges = [(array.ctypes.data, array.nbytes, array.flags.writeable) for array in arrays]
    shape = Shape((blocks, 1, 1), (threads, 1, 1), (1, 1, 1), 0)
    run_text(ptx, name, shape, block(values), ranges, settings, f"{name}.ptx")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [1, 1000, 5000])
def test_reduction_with_shuffles(compiled: Callable[[str, str], str], target: str, size: int) -> None:
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(size, np.float32)
        total = np.zeros(1, np.float32)
        run(compiled("reduction", target), "reduction", 4, 128, [x, total, size], Settings(seed))
        # An element is in at most the sums of its thread, ten shuffles and four atomics, each rounded by 2^-24.
        roundings = math.ceil(size / 512) + 10 + 4
        magnitude = np.abs(x.astype(np.float64)).sum()
        assert abs(float(total[0]) - x.astype(np.float64).sum()) <= roundings * 2.0**-24 * magnitude


@pytest.mark.parametrize("target", TARGETS)
def test_lanes_call_different_functions_through_a_table(compiled: Callable[[str, str], str], target: str) -> None:
    for seed in SEEDS:
        x = np.random.default_rng(seed).integers(-1000, 1000, 200).astype(np.int32)
        y = np.zeros_like(x)
        run(compiled("dispatch", target), "dispatch", 2, 128, [x, y, 200], Settings(seed))
        bits_set = [(value & 0xFFFFFFFF).bit_count() for value in x.tolist()]
        assert np.array_equal(y, np.choose(x & 3, [-x, x * x, x >> 1, bits_set]))


@pytest.mark.parametrize("target", TARGETS)
def test_histogram_with_stores_of_the_same_value(compiled: Callable[[str, str], str], target: str) -> None:
    for seed in SEEDS:
        x = np.random.default_rng(seed).integers(0, 60, 3000).astype(np.int32)
        counts, occurs = np.zeros((2, 64), np.int32)
        run(compiled("histogram", target), "histogram", 2, 256, [x, counts, occurs, 3000], Settings(seed))
        assert np.array_equal(counts, np.bincount(x, minlength=64))
        assert np.array_equal(occurs, counts > 0)
    with pytest.raises(SimulationError, match="race"):
        run(
            compiled("histogram", target),
            "histogram",
            2,
            256,
            [x, counts, occurs, 3000],
            Settings(same_value_races=True),
        )


def core_matrices(matrix: np.ndarray) -> np.ndarray:
    """Tiles of 64 columns as core matrices of 8 rows by 16 bytes, in order along k."""
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows // 8, 8, columns // 64, 8, 8).transpose(2, 0, 3, 1, 4))


def wgmma_pipeline(ptx: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    tiles = 5
    a, b = (random.integers(-4, 5, (rows, 64 * tiles)).astype(np.float16) for rows in (128, 32))
    d = np.zeros((128, 32), np.float32)
    arguments: list[np.ndarray | int] = [core_matrices(a), core_matrices(b), d, tiles]
    run(ptx, "wgmma_pipeline", 1, 384, arguments, Settings(seed))
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


def test_warp_specialized_wgmma_with_bulk_copies(compiled: Callable[[str, str], str]) -> None:
    for seed in SEEDS:
        wgmma_pipeline(compiled("wgmma_pipeline", "sm_90a"), seed)


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        (
            "setmaxnreg.dec.sync.aligned.u32 40",
            "setmaxnreg.dec.sync.aligned.u32 48",
            "waits at line .*: setmaxnreg.inc",
        ),
        ("wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned 1", "race"),
        ("fence.mbarrier_init.release.cluster;", "", "race: the mbarrier is used"),
    ],
)
def test_faults_of_the_pipeline_are_reported_for_every_seed(
    compiled: Callable[[str, str], str], line: str, replacement: str, message: str
) -> None:
    ptx = compiled("wgmma_pipeline", "sm_90a")
    assert line in ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=message):
            wgmma_pipeline(ptx.replace(line, replacement), seed)
