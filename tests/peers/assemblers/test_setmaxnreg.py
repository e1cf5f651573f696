"""ptxas follows the register budgets of roles: nvdisasm shows the instructions."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_register_budgets import multiplied_twice, signature

import tilec as ct
from tilec.runtime.cubin.cubin import assemble

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_warpgroups_have_the_registers_of_their_roles(target: str, tmp_path: Path) -> None:
    cubin = assemble(ct.compile(multiplied_twice, target=target, signature=signature(), stop="ptx").ptx, target)
    assert cubin.assembler.startswith("ptxas 13.") and cubin.registers == 168
    assert cubin.warnings == () and cubin.spill_bytes == 0
    # 232 and 32 registers.
    assert re.findall(r"USETMAXREG\S* (?:UP\d, )?(\w+)", disassembled(cubin.content, tmp_path)) == ["0xe8", "0x20"]


def disassembled(content: bytes, folder: Path) -> str:
    path = folder / "kernel.cubin"
    path.write_bytes(content)
    return subprocess.run([nvdisasm(), "-c", path], capture_output=True, text=True, check=True).stdout


def nvdisasm() -> str:
    """The disassembler on the PATH, or that of the package triton."""
    spec = find_spec("triton")
    folders = [] if spec is None else spec.submodule_search_locations or []
    packaged = [str(path) for folder in folders for path in Path(folder).glob("backends/nvidia/bin/nvdisasm")]
    found = shutil.which("nvdisasm") or next(iter(packaged), None)
    assert found is not None
    return found
