"""Fixtures that run mlir-opt of torch-mlir and, with the marker `peers`, of LLVM 22 with the dialects in IRDL."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tilec.dialect.irdl_export import definition
from tilec.dialect.registry import dialects

# Tests are not a package; their samples are modules in this folder.
sys.path.insert(0, str(Path(__file__).parent))


def _in_package(name: str, file: str) -> str | None:
    spec = find_spec(name)
    folders = spec.submodule_search_locations if spec is not None else None
    return next((str(path) for folder in folders or () if (path := Path(folder) / file).exists()), None)


def _mlir_opt_22() -> str | None:
    """The file of TILEC_MLIR_OPT, Debian's tool on the PATH, or the tool of the extra `peers`."""
    return os.environ.get("TILEC_MLIR_OPT") or shutil.which("mlir-opt-22") or _in_package("mlir", "bin/mlir-opt")


TOOLS = {
    "torch-mlir-opt": lambda: _in_package("torch_mlir", "_mlir_libs/torch-mlir-opt"),
    "mlir-opt-22": _mlir_opt_22,
}


def _path_of(name: str) -> str:
    path = TOOLS[name]()
    if path is None:
        pytest.fail(f"no {name}: install Debian's mlir-22-tools or the extra 'peers', or set TILEC_MLIR_OPT")
    return path


@pytest.fixture(scope="session")
def irdl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The IRDL file of the dialects of tilec."""
    path = tmp_path_factory.mktemp("irdl") / "tilec.irdl.mlir"
    path.write_text(definition(dialects()))
    return path


def _runner(tool: str, irdl: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [tool, f"--irdl-file={irdl}", "--mlir-print-op-generic", *options, "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture(scope="session", params=["torch-mlir-opt", pytest.param("mlir-opt-22", marks=pytest.mark.peers)])
def tool(request: pytest.FixtureRequest) -> str:
    """The path of a tool; parametrizes over the tools."""
    return _path_of(request.param)


@pytest.fixture(scope="session")
def mlir_opt(tool: str, irdl: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a tool with the dialects of tilec on a text: `mlir_opt(text, option, ..)`; parametrizes over the tools."""
    return _runner(tool, irdl)


@pytest.fixture(scope="session")
def mlir_opt_22(irdl: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the tool of LLVM 22, which has every upstream dialect; the tool of torch-mlir has no arith and cf."""
    return _runner(_path_of("mlir-opt-22"), irdl)
