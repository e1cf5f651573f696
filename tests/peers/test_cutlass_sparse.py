"""The simulator runs sparse GEMMs of CUTLASS, whose own kernel makes the kept elements and their metadata.

They are witnesses of `ct.compress_2_4`, and of the metadata that the simulator reads: from tensor memory, where CUTLASS
copies it, on sm_100a, from registers on sm_90a.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from aligned_arrays import aligned, integers
from cutlass_kernels import SEEDS, UNFENCED_LOAD, Kernels

from tilec import compress_2_4
from tilec.errors import SimulationError
from tilec.runtime.simulate import Settings

pytestmark = pytest.mark.peers

# The warps that multiply on sm_90a load metadata from shared memory, and TMA overwrites it after an mbarrier alone.
UNFENCED_READ = "no fence.proxy.async follows an earlier read"
M, N = 256, 128
# The bytes of a row of A before its elements are left out: four tiles, of which three fit into shared memory at once.
ROW_BYTES = 4 * 256


def sparse_matrix(random: np.random.Generator, rows: int, columns: int, dtype: type, group: int) -> np.ndarray:
    """Integers from 1 to 4 of either sign in half of the places of each group, and zeros."""
    shape = (rows, columns // group, group)
    values = random.integers(1, 5, shape) * random.choice([-1, 1], shape)
    kept = np.argsort(random.random(values.shape), axis=-1) < group // 2
    return aligned((values * kept).reshape(rows, columns).astype(dtype))


def metadata_of_rows(words: np.ndarray, interleaved: bool) -> np.ndarray:
    """The 8 groups of each word in the order of a row, from the layouts of PTX ISA 9.7.15.5: shape (rows, groups)."""
    if interleaved:
        # Words (16 R + r, c) and (16 R + 8 + r, c) have rows 16 R + r and 16 R + 8 + r in their low and high halves.
        blocks = words.reshape(-1, 2, 8, words.shape[1])
        low, high = blocks & 0xFFFF, blocks >> 16
        words = np.stack([low[:, 0] | low[:, 1] << 16, high[:, 0] | high[:, 1] << 16], axis=1).reshape(words.shape)
    return (words[..., None] >> 4 * np.arange(8, dtype=np.uint32) & 15).reshape(len(words), -1)


class SparseKernels(Kernels):
    """The kernels of sparse.cu for a type of elements."""

    def __init__(self, target: str, element: str, folder: Path) -> None:
        architecture = {"sm_90a": "Sm90", "sm_100a": "Sm100"}[target]
        super().__init__("sparse", target, folder, [f"ARCHITECTURE={architecture}", f"ELEMENT={element}"])

    def compressed_shape(self, rows: int, columns: int) -> tuple[int, int, int]:
        """Rows and columns of the kept elements, and bytes of metadata."""
        shape = (ctypes.c_int * 3)()
        self._host_code.compressed_shape(rows, columns, shape)
        return tuple(shape)

    def metadata_offset(self, rows: int, columns: int, row: int, column: int) -> int:
        return self._host_code.metadata_offset(rows, columns, row, column)


def check(kernels: SparseKernels, dtype: type, settings: Settings) -> None:
    """Compares kept elements, metadata and product with those of CUTLASS and numpy."""
    random = np.random.default_rng(settings.seed)
    size = np.dtype(dtype).itemsize
    group, k = (2 if size == 4 else 4), ROW_BYTES // size
    a, b = sparse_matrix(random, M, k, dtype, group), integers(random, 4, (N, k), dtype)
    sums = np.int32 if dtype is np.int8 else np.float32
    c = integers(random, 1000, (M, N), sums)
    *shape, metadata_bytes = kernels.compressed_shape(M, k)
    kept, metadata = aligned(np.zeros(shape, dtype)), aligned(np.zeros(metadata_bytes, np.uint8))
    kernels.run("compress", (M, N, k), [a, kept, metadata], settings, results=2)

    own_kept, words = compress_2_4(a)
    assert own_kept.tobytes() == kept.tobytes()
    groups = metadata_of_rows(words, interleaved=size > 1)[:M, : k // group]
    expected = [
        metadata[kernels.metadata_offset(M, k, row, column)] >> shift & 15
        for row in range(M)
        for column in range(0, k, 2 * group)
        for shift in (0, 4)
    ]
    assert np.array_equal(groups.ravel(), expected)

    d = aligned(np.zeros_like(c))
    kernels.run("gemm", (M, N, k), [kept, metadata, b, c, d], settings)
    assert np.array_equal(d, a.astype(sums) @ b.astype(sums).T + c)


ELEMENTS = [
    pytest.param("cutlass::half_t", np.float16, id="f16"),
    pytest.param("cutlass::float_e4m3_t", ml_dtypes.float8_e4m3fn, id="e4m3", marks=pytest.mark.soak),
    pytest.param("int8_t", np.int8, id="i8", marks=pytest.mark.soak),
    pytest.param("cutlass::tfloat32_t", np.float32, id="tf32", marks=pytest.mark.soak),
]


# The instruction of each target, the report of the checks that CUTLASS does not pass, and the settings without them.
UNITS = {
    "sm_90a": ("wgmma.mma_async.sp.sync.aligned", UNFENCED_READ, {"read_fences": False}),
    "sm_100a": ("tcgen05.mma.sp.cta_group::1", UNFENCED_LOAD, {"allow_unconfirmed": True}),
}


@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize(("element", "dtype"), ELEMENTS)
def test_sparse_product(element: str, dtype: type, target: str, tmp_path: Path) -> None:
    instruction, report, settings = UNITS[target]
    kernels = SparseKernels(target, element, tmp_path)
    assert instruction in kernels.ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=report):
            check(kernels, dtype, Settings(seed))
        check(kernels, dtype, Settings(seed, **settings))
