"""PTX that NVRTC generates: reductions, transposes, cp.async, atomics and calls of math functions."""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
import pytest
from cuda.bindings import nvrtc

from tilec.runtime.ptxsim import _native

KERNELS = r"""
extern "C" __global__ void elementwise(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = expf(a[i]) + sinf(b[i] * 1000.0f) / sqrtf(a[i] * a[i] + 1.0f) + powf(fabsf(a[i]), 1.5f);
}
extern "C" __global__ void reduce(const int *a, int *out, int n) {
  __shared__ int partial[32];
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  BARRIER
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
extern "C" __global__ void transpose(const float *a, float *b, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
  BARRIER
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void histogram(const unsigned *a, unsigned *bins, int n) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  BARRIER
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[a[i] % 16], 1u);
  BARRIER
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
extern "C" __global__ void staged(const float *a, float *b) {
  __shared__ __align__(16) float buffer[2][128];
  auto fetch = [&](int stage) {
    unsigned to = (unsigned)__cvta_generic_to_shared(&buffer[stage & 1][threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + stage * 128 + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum = 0;
  fetch(0);
  for (int stage = 0; stage < 8; ++stage) {
    if (stage < 7) fetch(stage + 1);
    if (stage < 7) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
    BARRIER
    sum += buffer[stage & 1][(threadIdx.x + 1) % 128];
    AFTER
  }
  b[threadIdx.x] = sum;
}
"""


@lru_cache
def _compile(architecture: str, barrier: str = "__syncthreads();", after: str = "__syncthreads();"):
    source = KERNELS.replace("BARRIER", barrier).replace("AFTER", after)
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
    options = [f"--gpu-architecture={architecture}".encode(), b"-lineinfo"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    parsed = _native.Program(text.rstrip(b"\0").decode())
    assert parsed.unsupported == []
    return parsed


ARCHITECTURES = pytest.mark.parametrize("architecture", ["compute_90a", "compute_100a"])
SEEDS = pytest.mark.parametrize("seed", range(5))


def _run(program, entry: str, grid, block, *arguments, **options):
    layout = "".join("Q" if isinstance(argument, np.ndarray) else "i" for argument in arguments)
    values = [argument.ctypes.data if isinstance(argument, np.ndarray) else argument for argument in arguments]
    ranges = [(a.ctypes.data, a.nbytes, True) for a in arguments if isinstance(a, np.ndarray)]
    return program.run(entry, grid, block, parameters=struct.pack("@" + layout, *values), ranges=ranges, **options)


@ARCHITECTURES
def test_math_functions(architecture):
    """Results are within the error of 2 ulp that the CUDA documentation states for these functions."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(500).astype(np.float32) for _ in range(2))
    c = np.zeros_like(a)
    _run(_compile(architecture), "elementwise", (4,), (128,), a, b, c, 500)
    x, y = a.astype(np.float64), (b * np.float32(1000)).astype(np.float64)
    parts = [np.exp(x), np.sin(y) / np.sqrt(x * x + 1), np.abs(x) ** 1.5]
    bound = sum(np.abs(part) for part in parts) * 4 * 2.0**-23
    assert (np.abs(c - sum(parts)) <= bound).all()


@ARCHITECTURES
@SEEDS
def test_reduction(architecture, seed):
    a = np.random.default_rng(1).integers(-1000, 1000, 5000, dtype=np.int32)
    out = np.zeros(1, np.int32)
    _run(_compile(architecture), "reduce", (3,), (256,), a, out, 5000, seed=seed)
    assert out[0] == a.sum()


@ARCHITECTURES
@SEEDS
def test_transpose(architecture, seed):
    a = np.random.default_rng(2).standard_normal((96, 96)).astype(np.float32)
    b = np.zeros_like(a)
    counters = _run(_compile(architecture), "transpose", (3, 3), (32, 8), a, b, 96, seed=seed)
    assert (b == a.T).all()
    assert counters["shared_bank_conflicts"] == 0  # because the tile has 33 columns


@SEEDS
def test_histogram(seed):
    a = np.random.default_rng(3).integers(0, 1 << 30, 3000, dtype=np.uint32)
    bins = np.zeros(16, np.uint32)
    _run(_compile("compute_90a"), "histogram", (4,), (128,), a, bins, 3000, seed=seed)
    assert (bins == np.bincount(a % 16, minlength=16)).all()


@SEEDS
def test_double_buffering_with_cp_async(seed):
    a = np.random.default_rng(4).integers(0, 100, 1024).astype(np.float32)
    b = np.zeros(128, np.float32)
    _run(_compile("compute_90a"), "staged", (1,), (128,), a, b, seed=seed)
    assert (b == np.roll(a.reshape(8, 128), -1, axis=1).sum(0)).all()


@SEEDS
@pytest.mark.parametrize("entry", ["reduce", "transpose", "histogram"])
def test_missing_barrier_is_reported_at_the_source_line(entry, seed):
    a, out = np.zeros((96, 96), np.uint32), np.zeros((96, 96), np.uint32)
    with pytest.raises(_native.Trap) as caught:
        _run(_compile("compute_90a", barrier=""), entry, (3, 3), (32, 8), a, out, 96, seed=seed)
    assert caught.value.kind in ("race", "uninitialised")
    assert caught.value.file.endswith("kernels.cu")
    assert "[" in KERNELS.splitlines()[caught.value.source_line - 1]  # a line that reads or writes an array


@SEEDS
def test_missing_barrier_before_a_buffer_is_overwritten_is_a_race(seed):
    with pytest.raises(_native.Trap) as caught:
        _run(_compile("compute_90a", after=""), "staged", (1,), (128,), np.zeros(1024), np.zeros(128), seed=seed)
    assert caught.value.kind == "race"
