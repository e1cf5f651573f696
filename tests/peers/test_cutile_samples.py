"""cuTile Python kernels, exported as bytecode, differ from numpy in f64 by at most their error bounds."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tilec

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
VERSIONS = ("13.1", "13.2", "13.3", "13.4")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    if not all(map(importlib.util.find_spec, ("cuda", "cuda.tile"))):
        # Without cuTile, the import fails with an error that names the missing package.
        metafunc.parametrize(("case", "version"), [pytest.param(None, None, id="without-cuda-tile")])
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        cases = importlib.import_module("cutile.cases")
    found = [
        pytest.param(case, version, id=f"{topic}-{cases.case_name(case)}-{version}")
        for topic, topic_cases in cases.CASES.items()
        for case in topic_cases
        for version in VERSIONS
        if version >= cases.FIRST_VERSION.get(topic, VERSIONS[0])
    ]
    metafunc.parametrize(("case", "version"), found)


@pytest.fixture(autouse=True)
def import_path_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


def test_results_are_within_their_bounds(case: Any, version: str) -> None:
    launcher = importlib.import_module("cutile.launcher")
    kernels = importlib.import_module("cutile.kernels").KERNELS
    for comparison in case(launcher.Launcher(kernels, version)):
        assert comparison.ratio <= 1, comparison


@pytest.mark.parametrize("topic", ["matmul", "attention", "layer norm", "fft", "experts", "block-scaled matmul"])
def test_disassembly_parses_to_the_same_module(topic: str, tmp_path: Path) -> None:
    """The output of tileirdisasm parses to the same module as the bytecode."""
    cutile = {name: importlib.import_module(f"cutile.{name}") for name in ("cases", "export", "kernels")}
    seen = []

    def launch(kernel: str, _grid: Any, arguments: Any) -> None:
        content = cutile["export"].export(cutile["kernels"].KERNELS[kernel], arguments, "13.4")
        printed = tilec.Module.parse(importlib.import_module("tile_tools").disassembled(content, tmp_path))
        seen.append((str(tilec.Module.parse(content)), str(printed)))

    for case in cutile["cases"].CASES[topic]:
        list(case(launch))
    assert seen
    for read, printed in seen:
        assert read == printed


@pytest.mark.parametrize("runner", [[], ["-m", "tilec.compat"]], ids=["cutile", "tilec"])
def test_script_runs_kernels_with_the_names_of_nvidias_samples(tmp_path: Path, runner: list[str]) -> None:
    """The kernels of this folder with the files, names and imports of NVIDIA's samples."""
    (tmp_path / "Transpose.py").write_text(
        "import torch\nfrom torch.nn.attention import sdpa_kernel\n"
        "from cutile.transpose import transpose as transpose_kernel\n"
        "def launch(x: torch.Tensor, function: torch.autograd.Function = None): ...\n"
    )
    command = [sys.executable, *runner, str(HERE / "run_cutile_samples.py"), str(tmp_path), "--topic", "transpose"]
    process = subprocess.run([*command, "--simulate", "sm_90a"], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    result = "transpose of (70, 50) float32: largest error 0, 0 of its bound"
    assert process.stdout.splitlines()[-2:] == [f"    correct: {result}", f"    correct, sm_90a: {result}"]
