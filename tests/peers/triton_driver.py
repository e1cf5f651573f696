"""The arguments that the host code of Triton passes to the driver, recorded by a stand-in for libcuda."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Symbols are bound lazily, because the stand-in defines none of the functions that are not called. It runs in a process
# of its own, because the calling process may have loaded the real libcuda.
PROGRAM = """
import json, os, sys
sys.setdlopenflags(os.RTLD_LAZY)
sys.path.insert(0, sys.argv[1])
import cuda_utils
cuda_utils.fill_tma_descriptor_im2col(*json.loads(sys.argv[2]))
"""


def encoded_im2col(arguments: Sequence[object], folder: Path) -> dict[str, Any]:
    """The arguments of cuTensorMapEncodeIm2col for these of Triton's fill_tma_descriptor_im2col.

    The latter are address, swizzle, element size in bytes, CUtensorMapDataType, block (pixels, channels), extents,
    strides, fill, lower and upper corner, and element strides, each list outermost dimension first.
    """
    spec = find_spec("triton")
    assert spec is not None and spec.submodule_search_locations is not None
    host = Path(spec.submodule_search_locations[0]) / "backends" / "nvidia"
    compiler = ["cc", "-shared", "-fPIC", f"-I{host / 'include'}", f"-I{sysconfig.get_paths()['include']}"]
    stand_in = Path(__file__).parent / "driver" / "libcuda.c"
    name = "libcuda.so.1"
    subprocess.run([*compiler, stand_in, f"-Wl,-soname,{name}", "-o", folder / name], check=True)
    subprocess.run([*compiler, host / "driver.c", "-o", folder / "cuda_utils.so"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, json.dumps(arguments)],
        env={**os.environ, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)
