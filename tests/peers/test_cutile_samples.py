"""Kernels in cuTile Python, exported by it as bytecode, run right in the interpreter: numpy in f64 says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
VERSIONS = ("13.1", "13.2", "13.3", "13.4")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        cases = importlib.import_module("cutile.cases")
    found = [
        pytest.param(case, version, id=f"{topic}-{cases.case_name(case)}-{version}")
        for topic, several in cases.CASES.items()
        for case in several
        for version in VERSIONS
        if version >= cases.FIRST_VERSION.get(topic, VERSIONS[0])
    ]
    metafunc.parametrize(("case", "version"), found)


@pytest.fixture(autouse=True)
def kernels_beside_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


def test_results_are_within_their_bounds(case: Any, version: str) -> None:
    launcher = importlib.import_module("cutile.launcher")
    kernels = importlib.import_module("cutile.kernels").KERNELS
    for comparison in case(launcher.Launcher(kernels, version)):
        assert comparison.share <= 1, comparison
