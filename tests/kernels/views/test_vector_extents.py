"""Loads of launched arrays are vectors if the extent of adjacent elements is a multiple of them, also in last tiles."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.lowering.target import TARGETS
from tilec.signature import Signature


@ct.kernel
def doubled(x, y):
    i = ct.bid(0)
    ct.store(y, i, 2 * ct.load(x, i, 512))


@ct.kernel
def doubled_rows(x, y):
    i = ct.bid(0)
    ct.store(y, (i, 0), 2 * ct.load(x, (i, 0), (8, 64)))


def row_major(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and memory for the result that is followed by more."""
    size = int(np.prod(shape))
    return np.arange(1, size + 1, dtype=np.float32).reshape(shape), np.zeros(size + 64, np.float32)


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
@pytest.mark.parametrize(
    ("kernel", "shape", "blocks", "has_vectors"),
    [
        (doubled, (1000,), 2, True),
        (doubled, (1001,), 2, False),
        (doubled, (1002,), 2, False),
        (doubled_rows, (9, 60), 2, True),
        (doubled_rows, (9, 61), 2, False),
    ],
)
def test_arrays(kernel, shape: tuple[int, ...], blocks: int, has_vectors: bool, target: str) -> None:
    x, memory = row_major(*shape)
    y = memory[: x.size].reshape(shape)
    if target == "interpret":
        ct.run(kernel, blocks, (x, y), backend="interpret")
    else:
        signature = Signature.from_arguments(kernel, (x, y))
        compiled = ct.compile(kernel, target=target, signature=signature, stop="ptx")
        assert ("ld.global.v4" in compiled.ptx) == has_vectors
        ct.run(compiled, blocks, (x, y), backend="simulate")
    assert np.array_equal(y, 2 * x)
    assert not memory[x.size :].any()
