"""The simulator runs GEMMs of CUTLASS, which nvcc compiles and whose parameters CUTLASS makes on the host.

CUTLASS decides the layouts of operands and scale factors, the descriptors and the synchronisation. Inputs are such
that every sum is exact, so results equal those of numpy bit for bit. Compilation takes most of the time: one test per
kernel. Those of elements of 4 and 6 bits, which compile longest, are marked `soak` (make soak-peers).
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


def packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of elements of fewer than 8 bits without gaps, the first element in the lowest bits."""
    return aligned(
        np.packbits(codes[..., np.newaxis] >> np.arange(bits) & 1, bitorder="little").reshape(len(codes), -1)
    )


def narrow(gemm: Kernels, settings: Settings, formats: list[type], factor: type, block: int, k: int) -> None:
    """Multiplies elements of 4 and 6 bits. `block` elements along k have a factor."""
    random = np.random.default_rng(settings.seed)
    m, n = 384, 256
    sizes = [ml_dtypes.finfo(dtype).bits for dtype in formats]
    codes = [random.integers(0, 1 << bits, (rows, k), np.uint8) for bits, rows in zip(sizes, (m, n), strict=True)]
    elements = [code.view(dtype).astype(np.float32) for code, dtype in zip(codes, formats, strict=True)]
    # Products are multiples of 2^-7, and the sums of these random numbers are below 2^16: each is exact in 24 bits.
    factors = [2.0 ** random.integers(-1, 2, (rows, k // block)) for rows in (m, n)]
    stored = [aligned(interleaved(values).astype(factor)) for values in factors]
    c = integers(random, 1000, (m, n), np.float32)
    d = aligned(np.zeros_like(c))
    gemm.run("gemm", (m, n, k), [*map(packed, codes, sizes), *stored, c, d], settings)
    scaled_a, scaled_b = (x * np.repeat(values, block, axis=1) for x, values in zip(elements, factors, strict=True))
    assert np.array_equal(d, scaled_a @ scaled_b.T + c)


def narrow_in_all_seeds(gemm: Kernels, *arguments: object) -> None:
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=UNFENCED_LOAD):
            narrow(gemm, Settings(seed), *arguments)
        narrow(gemm, Settings(seed, allow_unconfirmed=True), *arguments)


@pytest.mark.soak
def test_product_of_nvfp4(tmp_path: Path) -> None:
    """TMA copies .b4x16 as it is."""
    gemm = Kernels("nvf4", "sm_100a", tmp_path)
    assert "kind::mxf4nvf4.block_scale.block16" in gemm.ptx
    narrow_in_all_seeds(gemm, [ml_dtypes.float4_e2m1fn] * 2, ml_dtypes.float8_e4m3fn, 16, 512)


@pytest.mark.soak
def test_product_of_mxfp4_and_mxfp6(tmp_path: Path) -> None:
    """TMA pads .b4x16_p64 and .b6x16_p32, and the mbarriers count the bytes without the padding."""
    gemm = Kernels("mxf4f6", "sm_100a", tmp_path)
    formats = [ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e3m2fn]
    narrow_in_all_seeds(gemm, formats, ml_dtypes.float8_e8m0fnu, 32, 256)


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
