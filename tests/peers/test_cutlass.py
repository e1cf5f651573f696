"""The simulator runs GEMMs of CUTLASS, which nvcc compiles and whose parameters CUTLASS makes on the host.

CUTLASS decides the layouts of operands and scale factors, the descriptors and the synchronisation. Inputs are such
that every sum is exact, so results equal those of numpy bit for bit. Compilation takes most of the time: one test per
kernel.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from aligned_arrays import aligned, integers
from cutlass_kernels import SEEDS, UNFENCED_LOAD, Kernels

from tilec.errors import SimulationError
from tilec.runtime.simulate import Settings

pytestmark = pytest.mark.peers


def interleaved(factors: np.ndarray) -> np.ndarray:
    """Factors as tensor cores read them: blocks of 128 rows by 4 factors, as 32 rows of 16 bytes."""
    rows, count = factors.shape
    return np.ascontiguousarray(factors.reshape(rows // 128, 4, 32, count // 4, 4).transpose(0, 3, 2, 1, 4))


def mxf8(gemm: Kernels, settings: Settings) -> None:
    random = np.random.default_rng(settings.seed)
    m, n, k = extents = (384, 256, 512)
    # Products are multiples of 2^-4 below 2^9, and sums are below 2^18: each is exact in 24 bits.
    a, b = (integers(random, 4, (rows, k), ml_dtypes.float8_e4m3fn) for rows in (m, n))
    c = integers(random, 1000, (m, n), np.float32)
    factors = [2.0 ** random.integers(-2, 3, (rows, k // 32)) for rows in (m, n)]
    stored = [aligned(interleaved(factor).astype(ml_dtypes.float8_e8m0fnu)) for factor in factors]
    d = aligned(np.zeros_like(c))
    gemm.run("gemm", extents, [a, b, *stored, c, d], settings)
    scaled_a, scaled_b = (x * np.repeat(factor, 32, axis=1) for x, factor in zip((a, b), factors, strict=True))
    assert np.array_equal(d, scaled_a @ scaled_b.T + c)


def test_block_scaled_product_with_tcgen05(tmp_path: Path) -> None:
    gemm = Kernels("mxf8", "sm_100a", tmp_path)
    assert "tcgen05.cp.cta_group::1.32x128b.warpx4" in gemm.ptx and "kind::mxf8f6f4.block_scale" in gemm.ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=UNFENCED_LOAD):
            mxf8(gemm, Settings(seed))
        mxf8(gemm, Settings(seed, allow_unconfirmed=True))


def fp8(gemm: Kernels, settings: Settings) -> None:
    random = np.random.default_rng(settings.seed)
    m, n, k = extents = (256, 256, 512)
    # wgmma keeps 13 fraction bits of a sum. CUTLASS starts a new sum after 128 products of at most 16, so sums are
    # integers of at most 2^11, and exact.
    a, b = (integers(random, 4, (rows, k), ml_dtypes.float8_e4m3fn) for rows in (m, n))
    c = integers(random, 1000, (m, n), np.float32)
    d = aligned(np.zeros_like(c))
    gemm.run("gemm", extents, [a, b, c, d], settings)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T + c)


def test_product_of_8_bit_floats_with_wgmma(tmp_path: Path) -> None:
    gemm = Kernels("fp8", "sm_90a", tmp_path)
    assert "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3" in gemm.ptx
    for seed in SEEDS:
        fp8(gemm, Settings(seed))
