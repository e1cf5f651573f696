"""Without the packages of NVIDIA, which macOS lacks, kernels compile to PTX and simulate; the rest gives advice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib.abc, sys
import numpy as np

class NoCuda(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "cuda.bindings" or name.startswith("cuda.bindings."):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NoCuda())
import tilec as ct
from tilec.process.cuda_bindings import cuda_binding

@ct.kernel
def double(x): ct.store(x, 0, ct.load(x, 0, 4) * 2)

@ct.kernel
def power(x): ct.store(x, 0, ct.load(x, 0, 4) ** ct.load(x, 0, 4))

x = np.ones(4, np.float32)
ct.launch(None, 1, double, (x,))
print(x)
for attempt in (
    lambda: ct.compile(double, signature="x: f32[4]"),
    lambda: ct.compile(power, signature="x: f32[4]", stop="ptx"),
    lambda: cuda_binding("driver"),
):
    try:
        attempt()
    except ct.TileError as error:
        print(type(error).__name__, error.message.partition(":")[0])
"""


def test_without_the_packages_of_nvidia(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {"PATH": "/usr/bin", "HOME": str(tmp_path), "TILEC_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[2. 2. 2. 2.]",
        "UnsupportedError cuda.bindings.nvjitlink, which assembles cubins, is not installed",
        "UnsupportedError cuda.bindings.nvrtc, which compiles the device functions of CUDA, is not installed",
        "UnsupportedError cuda.bindings.driver, which launches and times kernels on a GPU, is not installed",
    ]
