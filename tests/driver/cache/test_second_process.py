"""A process whose kernel is in the disk cache loads no module that its first launch does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys

import numpy as np

before = set(sys.modules)
import tilec as ct

class OnDevice:
    def __init__(self, array):
        self.array = array
        data = array.ctypes.data, False
        self.__cuda_array_interface__ = dict(version=3, data=data, shape=array.shape, typestr="<f4")

@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, (0,), ct.load(x, (0,), (tile,)) * 2)

x = np.ones(4, np.float32)
ct.launch(None, 1, double, (OnDevice(x) if sys.argv[1] == "launch" else x, 4), backend=sys.argv[1])
print("loaded", *(set(sys.modules) - before))
"""

# The modules that NVIDIA's bindings of the driver load; a launch needs them.
BINDINGS = """
import sys

import numpy

before = set(sys.modules)
from cuda.bindings import driver

driver.cuInit(0)
print("loaded", *(set(sys.modules) - before))
"""

# Packages, modules of Python that take a millisecond or more, and those that every one of our stages would load.
UNNEEDED = """
torch_mlir mlir ml_dtypes cuda nvidia torch
dataclasses pathlib hashlib tempfile subprocess logging asyncio concurrent multiprocessing urllib argparse shutil email
tilec.dialect tilec.lowering.tile tilec.lowering.tile_to_gpu tilec.lowering.gpu tilec.lowering.gpu_to_ptx
tilec.lowering.ptx tilec.ast_to_tile.tracer tilec.driver.stages tilec.commands tilec.tuning tilec.runtime.cubin.cubin
tilec.runtime.interpret tilec.python_run tilec.kernel_export tilec.ahead_of_time tilec.process.time_limit
""".split()


def loaded(module: str, modules: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for name in modules)


@pytest.mark.parametrize("backend", ["simulate", "launch"])
def test_second_process_loads_what_it_needs(backend: str, recording_driver: Path, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    settings = {"TILEC_CACHE": str(tmp_path), "TILEC_CACHE_SIZE": str(1 << 20), "TILEC_TARGET": "sm_100a"}
    driver = {"LD_LIBRARY_PATH": str(recording_driver), "RECORDED_MAJOR": "10", "RECORDED_ONLY": "1"}
    environment = {**os.environ, **settings, **driver}

    def modules(*program: str) -> set[str]:
        command = [sys.executable, *program]
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        return set(next(line for line in output.splitlines() if line.startswith("loaded")).split()[1:])

    first = modules(str(file), backend)
    assert loaded("tilec.driver.stages", first) and loaded("pathlib", first)
    second = modules(str(file), backend)
    if backend == "launch":
        second -= modules("-c", BINDINGS)
    assert [module for module in UNNEEDED if loaded(module, second)] == []
