"""An artifact is simulated, and a tensor map encoded, where neither MLIR nor the CUDA bindings can be imported."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import tilec

KERNEL = """
import tilec as ct

@ct.kernel
def double(x, y, tile: ct.Constant[int]):
    block = ct.bid(0)
    loaded = ct.load(x, index=(block,), shape=(tile,))
    ct.store(y, index=(block,), tile=loaded + loaded)
"""

RUN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlir", "torch_mlir", "cuda") or name.startswith("tilec.dialect"):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, Refuse())
import numpy as np
import tilec

x, y = np.load(sys.argv[2]), np.zeros(300, np.float32)
tilec.run(tilec.load_artifact(sys.argv[1]), 2, [x, y, 256])
np.save(sys.argv[3], y)
tilec.tensor_map.encode_tiled(element="f16", base=0, extents=(64, 8), strides=(128,), box=(64, 8))
"""


def test_artifact_runs_without_mlir_and_cuda(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(KERNEL)
    compiled = tilec.compile(tmp_path / "double.py", signature="x: f32[?], y: f32[?], tile=256", stop="ptx")
    compiled.save(tmp_path / "double")
    x = np.arange(300, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-c", RUN, tmp_path / "double", tmp_path / "x.npy", tmp_path / "y.npy"]
    process = subprocess.run([str(argument) for argument in command], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), 2 * x)
