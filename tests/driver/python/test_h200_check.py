"""The check for Hopper GPUs: its folder is self-contained, and without a GPU it prints the planned launches."""

import os
import subprocess
import sys
from pathlib import Path

CHECKS = ["streams", "programmatic_launch", "events", "graph", "threads"]
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "h200_check.py"

# MLIR cannot be imported, and the folder precedes the installed tilec on the import path.
RUN = """
import runpy, sys

class RejectMlir:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlir", "torch_mlir"):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, RejectMlir())
folder = sys.argv[1]
sys.path.insert(0, folder)
sys.argv = ["h200_check.py", "run"]
runpy.run_path(f"{folder}/h200_check.py", run_name="__main__")
"""


def test_folder_is_self_contained(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(BENCHMARK), "make", str(tmp_path)], check=True, capture_output=True)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[0] == "kernels of sm_90a need a GPU of that architecture, found none; launches on such a GPU:"
    checks = lines.index("checks of native launches on such a GPU:")
    assert lines[checks + 1].startswith(
        "  streams: Launches in streams given as a handle, an object, the protocol, and"
    )
    assert [line.split(":")[0].strip() for line in lines[checks + 1 :]] == CHECKS
    names = [line.split(":")[0].strip() for line in lines[1:checks]]
    assert names == sorted({file.name.split(".")[0] for file in tmp_path.glob("*.ptx")}, key=names.index)
    assert {"vector_add", "softmax", "matmul_bf16_1000x520x776"} <= set(names)
