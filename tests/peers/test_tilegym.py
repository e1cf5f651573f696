"""The tests of NVIDIA's TileGym pass with tilec as cuda.tile, in the simulator, on both targets.

They run if the environment variable TILEGYM names a checkout of github.com/NVIDIA/TileGym and PyTorch is installed:

    TILEGYM=~/TileGym make test-peers

Sizes are shrunk, and searches take their first configuration (benchmarks/tilegym_host). The tests of this host itself
need neither the checkout nor PyTorch: they run with all other tests.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tilegym_host.kernel_records import failures, kernel_records
from tilegym_host.launches import Launches
from tilegym_host.sizes import chosen, elements, odd_sizes, parameters_of, shrunk

import tilec as ct
from tilec.errors import TileTypeError
from tilec.lowering.target import TARGETS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CHECKOUT = os.environ.get("TILEGYM", "")
FOUND = (path for suite in ("ops", "suites") for path in (Path(CHECKOUT) / "tests" / suite).rglob("test_*.py"))
FILES = sorted(str(path.relative_to(CHECKOUT)) for path in FOUND) if CHECKOUT else ["no checkout"]
needs_checkout = pytest.mark.skipif(
    not CHECKOUT or importlib.util.find_spec("torch") is None,
    reason="TILEGYM names no checkout of github.com/NVIDIA/TileGym, or PyTorch is not installed",
)


@pytest.mark.peers
@needs_checkout
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", FILES)
def test_file_of_tilegym(file: str, target: str, tmp_path: Path) -> None:
    plugins = ["-p", "tilegym_host.plugin", "-p", "no:cacheprovider"]
    source = os.pathsep.join(map(str, (BENCHMARKS, Path(CHECKOUT) / "src")))
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-q", "--records", str(tmp_path), file],
        cwd=CHECKOUT,
        env={**os.environ, "TILEC_TARGET": target, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0 and not failures(tmp_path), process.stdout[-4000:] + process.stderr[-2000:]


@ct.kernel
def doubled(X, Y):
    ct.store(Y, (0,), ct.load(X, (0,), (64,)) * 2)


NAME = f"{Path(__file__).name}:doubled"


def vectors(kind: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(64).astype(kind), np.zeros(64, kind)


@pytest.mark.parametrize("target", TARGETS)
def test_each_signature_is_recorded_once(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch runs in the simulator; the first one of a kernel writes its bytecode."""
    monkeypatch.setenv("TILEC_TARGET", target)
    records: list[dict[str, Any]] = []
    launches = Launches(target, tmp_path, False, records.append)
    for kind in (np.float32, np.float32, np.float16):
        x, y = vectors(kind)
        launches.launch(None, 1, doubled, (x, y), backend="simulate")
        assert np.array_equal(y, 2 * x)
    assert [(launch["kernel"], launch["outcome"]) for launch in launches.of_test] == [(NAME, "ran")] * 3
    assert [record["compile"] for record in records] == [NAME] * 2 and "f32" in records[0]["signature"]
    assert [path.name for path in tmp_path.iterdir()] == ["test_tilegym.doubled.tileirbc"]
    assert "@doubled" in ct.Module.parse((tmp_path / "test_tilegym.doubled.tileirbc").read_bytes()).to_text()


def test_a_refused_launch_is_recorded_and_fails_its_test(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    launches = Launches("sm_100a", tmp_path, False, records.append)
    matrix = np.zeros((64, 64), np.float32)
    for _ in range(2):
        with pytest.raises(TileTypeError):
            launches.launch(None, 1, doubled, (matrix, matrix), backend="simulate")
    assert [launch["outcome"] for launch in launches.of_test] == ["refused"] * 2
    (record,) = records
    assert record["compile"] == NAME and "error: 'ct.load'" in record["error"]


@pytest.mark.parametrize(("every", "compiled"), [(False, []), (True, ["1", "2"])])
def test_a_search_takes_the_first_configuration(every: bool, compiled: list[str], tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    launches = Launches("sm_100a", tmp_path, every, records.append)
    space = [SimpleNamespace(blocks=1), SimpleNamespace(blocks=2)]
    found = launches.search(
        space, None, lambda _: 1, doubled, lambda _: vectors(np.float32), lambda each: {"occupancy": each.blocks}
    )
    assert found.best.config is space[0]
    assert [record["hints"]["occupancy"] for record in records] == compiled


def test_extents_above_512_keep_their_remainder_of_64() -> None:
    assert [shrunk(size) for size in (9, 512, 513, 1000, 4096, 2047)] == [9, 512, 257, 296, 256, 319]
    assert shrunk([(1024, 3), "f16", True, 0.5]) == [(256, 3), "f16", True, 0.5]


def test_sizes_of_a_test_replace_its_own() -> None:
    found = parameters_of("tests/ops/test_matmul.py::Test_Matmul::test_op", {"m": 8192, "offset_a": 1024})
    assert found == {"m": 200, "n": 328, "k": 264, "offset_a": 256}


def test_first_set_has_the_fewest_sizes_that_keep_accesses_from_tma() -> None:
    sets = [{"m": 9, "dtype": "f16"}, {"m": 4096, "dtype": "f16"}, {"m": 256, "dtype": "f16"}]
    assert [odd_sizes(each) for each in sets] == [1, 0, 0]
    assert [elements(each) for each in sets] == [9, 4096, 256]
    assert chosen(sets) == [2]


def test_sets_with_a_new_pair_of_options_are_chosen() -> None:
    sets = [{"a": a, "b": b, "m": 64} for a in (True, False) for b in (True, False)]
    assert chosen(sets) == [0, 1, 2, 3]
    assert chosen(sets, most=2) == [0, 1]
    assert chosen([*sets, {"a": True, "b": True, "m": 32}]) == [4, 1, 2, 3]


def test_records_name_refusals_and_failed_tests(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(
        '{"compile": "ops/a.py:add", "signature": "x: f16[?]", "hints": {}}\n'
        '{"compile": "ops/a.py:add", "signature": "x: f32[?]", "hints": {}, "error": "no room"}\n'
        '{"test": "t[1]", "outcome": "passed", "error": "", "launches": [{"kernel": "ops/a.py:add"}]}\n'
        '{"test": "t[2]", "outcome": "failed", "error": "no room", "launches": [{"kernel": "ops/a.py:add"}]}\n'
        '{"test": "t[3]", "outcome": "skipped", "error": "no GPU", "launches": []}\n'
    )
    assert failures(tmp_path) == {"t[2]": "no room"}
    found = kernel_records(tmp_path)["ops/a.py:add"]
    assert found.bytecode == tmp_path / "ops.a.add.tileirbc"
    assert (found.signatures, found.refused, found.passed, found.failed) == (2, ["no room"], 1, ["no room"])
