"""ptxas of the extra `peers` and of the PATH compile the PTX of every kernel of tests/kernels without warnings."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import programs
import pytest
from signatures import CASES, SIGNATURES

import tilec
from tilec.language.kernel import Kernel

pytestmark = pytest.mark.peers


def assemblers() -> list[Path]:
    spec = find_spec("nvidia")
    assert spec is not None and spec.submodule_search_locations is not None
    found = [path for folder in spec.submodule_search_locations for path in Path(folder).glob("*/bin/ptxas")]
    on_path = shutil.which("ptxas")
    return found + [Path(on_path)] * (on_path is not None)


def test_every_kernel_is_compiled() -> None:
    assert set(SIGNATURES) == {name for name, value in vars(programs).items() if isinstance(value, Kernel)}


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("name", "signature"), CASES)
def test_accepted_without_warnings(name: str, signature: str, target: str, tmp_path: Path) -> None:
    kernel = getattr(programs, name)
    ptx = tilec.compile(kernel, target=target, signature=signature, stop="ptx").ptx
    assert ptx.splitlines()[0] == ".version 9.0"
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx)
    assert assemblers()
    for ptxas in assemblers():
        command = [str(ptxas), f"-arch={target}", str(source), "-o", str(tmp_path / "kernel.cubin")]
        process = subprocess.run(command, capture_output=True, text=True)
        assert (process.returncode, process.stdout + process.stderr) == (0, ""), f"{ptxas}: {process.stderr}"
