"""All cases: every topic in several shapes and types, also with partial tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from cutile.attention_cases import attention
from cutile.block_scaled_cases import E4M3, E8M0, block_scaled_matmul
from cutile.elementwise_cases import matrix_add, transpose, vector_add
from cutile.experts_cases import mixture_of_experts
from cutile.fft_cases import fft
from cutile.layer_norm_cases import layer_norm
from cutile.matmul_cases import batch_matmul, gathered_matmul, matmul
from cutile.sampling import Comparisons, Launch

BF16, F16, F32 = ml_dtypes.bfloat16, np.float16, np.float32

Case = Callable[[Launch], Comparisons]
CASES: dict[str, list[Case]] = {
    "add": [
        partial(vector_add, extent=1024),
        partial(vector_add, extent=1001),
        partial(vector_add, extent=1001, gathered=True),
        partial(matrix_add, shape=(64, 128)),
        partial(matrix_add, shape=(70, 90)),
        partial(matrix_add, shape=(70, 90), gathered=True),
    ],
    "transpose": [
        partial(transpose, shape=(96, 64), dtype=F16),
        partial(transpose, shape=(96, 64), dtype=F32),
        partial(transpose, shape=(70, 50), dtype=F32),
    ],
    "matmul": [
        *(partial(matmul, extents=(64, 96, 128), dtype=dtype) for dtype in (F16, BF16, F32)),
        partial(matmul, extents=(300, 70, 90), dtype=F16),
        partial(matmul, extents=(300, 70, 90), dtype=F32, persistent=True),
        partial(matmul, extents=(100, 200, 64), dtype=BF16, persistent=True),
        partial(batch_matmul, dtype=F16),
        partial(batch_matmul, dtype=F16, ragged=True),
        partial(batch_matmul, dtype=E4M3, ragged=True),
        partial(gathered_matmul, dtype=F32),
        partial(gathered_matmul, dtype=F16),
    ],
    "attention": [
        partial(attention, queries=64, keys=96, dtype=F16),
        partial(attention, queries=64, keys=96, dtype=BF16),
        partial(attention, queries=96, keys=96, causal=True, dtype=F16),
        partial(attention, queries=40, keys=96, causal=True, position=56, dtype=BF16),
        partial(attention, queries=70, keys=90, causal=True, group=2, dtype=F16),
        partial(attention, queries=70, keys=90, group=4, dtype=F16),
    ],
    "layer norm": [
        partial(layer_norm, shape=(12, 256), dtype=F32),
        partial(layer_norm, shape=(12, 256), dtype=F16),
        partial(layer_norm, shape=(7, 200), dtype=BF16),
    ],
    "fft": [
        partial(fft, factors=(4, 8, 4), batch=3, rows=1, packing=8),
        partial(fft, factors=(8, 4, 16), batch=4, rows=4, packing=64),
        partial(fft, factors=(2, 2, 2), batch=4, rows=2, packing=2),
    ],
    "experts": [
        partial(mixture_of_experts, tokens=20, dtype=BF16),
        partial(mixture_of_experts, tokens=33, dtype=F16),
    ],
    "block-scaled matmul": [
        partial(block_scaled_matmul, extents=(256, 128, 256)),
        partial(block_scaled_matmul, extents=(256, 128, 256), swizzled=True),
        partial(block_scaled_matmul, extents=(200, 100, 300)),
        partial(block_scaled_matmul, extents=(128, 256, 256), elements=np.dtype(ml_dtypes.float8_e5m2)),
        partial(block_scaled_matmul, extents=(128, 256, 256), elements=None, scales=E8M0, block=32),
        partial(block_scaled_matmul, extents=(128, 256, 256), elements=None, scales=E4M3, block=16),
    ],
}
# The first version with block scales.
FIRST_VERSION = {"block-scaled matmul": "13.3"}


def case_name(case: Any) -> str:
    """The arguments of a case as a short id."""
    return "-".join(f"{name}={_id_of(value)}" for name, value in case.keywords.items()).replace(" ", "")


def _id_of(value: Any) -> Any:
    return np.dtype(value).name if isinstance(value, type | np.dtype) else value
