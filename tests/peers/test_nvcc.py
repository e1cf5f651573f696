"""PTX that nvcc makes of CUDA C++, without a GPU, runs right on the simulator."""

from __future__ import annotations

import math
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, run_text

pytestmark = pytest.mark.peers

# Each thread sums in strides, a warp by shuffles, the warps of a block through shared memory, the blocks by atomics.
REDUCTION = """
extern "C" __global__ void reduction(const float *x, float *total, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
"""


def nvcc() -> Path:
    """The compiler of the package nvidia-cuda-nvcc."""
    spec = find_spec("nvidia")
    assert spec is not None and spec.submodule_search_locations is not None
    return next(found for place in spec.submodule_search_locations for found in Path(place).glob("*/bin/nvcc"))


@pytest.fixture(scope="module", params=["sm_90a", "sm_100a"])
def ptx(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nvcc")
    source, made = folder / "reduction.cu", folder / "reduction.ptx"
    source.write_text(REDUCTION)
    subprocess.run([nvcc(), "-ptx", f"-arch={request.param}", "-lineinfo", source, "-o", made], check=True)
    return made.read_text()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 1000, 5000])
def test_reduction_with_shuffles(ptx: str, size: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(size, np.float32)
    total = np.zeros(1, np.float32)
    values = [("u64", x.ctypes.data), ("u64", total.ctypes.data), ("u32", size)]
    parameters = block([pack_value(*value) for value in values])
    ranges = [(x.ctypes.data, x.nbytes, False), (total.ctypes.data, total.nbytes, True)]
    shape = Shape((4, 1, 1), (128, 1, 1), (1, 1, 1), 0)
    run_text(ptx, "reduction", shape, parameters, ranges, Settings(seed), "nvcc.ptx")
    # Each element takes part in at most its thread's sums, ten shuffles and four atomics, each rounded by 2^-24.
    turns = math.ceil(size / 512) + 10 + 4
    assert abs(float(total[0]) - x.astype(np.float64).sum()) <= turns * 2.0**-24 * np.abs(x.astype(np.float64)).sum()
