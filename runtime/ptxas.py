"""The executable ptxas, which assembles a whole program; nvJitLink compiles relocatable code only."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# The first version that reads the PTX of tilec (lowering/ptx/header.py).
_LEAST_VERSION = (13, 0)
_VERSION = re.compile(r"\bV(\d+)\.(\d+)")


@cache
def ptxas_executable() -> tuple[Path, str] | None:
    """The path and the name with the version (`ptxas 13.5`) of an executable that reads our PTX, if there is one.

    Searched in the packages of NVIDIA for Python, then on the PATH.
    """
    for path in _candidates():
        report = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        version = _VERSION.search(report)
        if version is not None and (int(version[1]), int(version[2])) >= _LEAST_VERSION:
            return path, f"ptxas {version[1]}.{version[2]}"
    return None


def run_ptxas(executable: Path, ptx: str, flags: Sequence[str]) -> tuple[bytes | None, str]:
    """The cubin of PTX text, None if ptxas refuses it, and the messages of ptxas."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [str(executable), *flags, source.name, "-o", output.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return output.read_bytes() if done.returncode == 0 else None, (done.stdout + done.stderr).strip()


def _candidates() -> list[Path]:
    spec = find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    packaged = [path for folder in folders for path in sorted(Path(folder).glob("*/bin/ptxas"))]
    on_path = shutil.which("ptxas")
    return packaged + ([] if on_path is None else [Path(on_path)])
