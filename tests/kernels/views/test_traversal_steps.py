"""Tiles of a view with traversal steps are boxes that start where TMA can begin, or threads load them."""

from __future__ import annotations

import matrix_kernels
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

REASON = "traversal stride 1 is not a multiple of 16 bytes, where TMA begins"


@pytest.mark.parametrize("step", [8, 48, 96, 1, 12, 60])
def test_tiles_of_an_operand(target, random, step):
    """Traversal strides of Tile IR are distances between tiles. None are inside of a box."""
    A, B = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((136, 400), (200, 72)))
    exact = np.zeros((136, 72))
    for k in range(4):
        part = A[:, k * step : k * step + 64].astype("f8")
        rows = B[k * 64 : k * 64 + part.shape[1]].astype("f8")
        exact += part[:, : len(rows)] @ rows
    args = (A, B, np.zeros((136, 72), np.float16), 128, 64, 64, step)
    signature = Signature.from_arguments(matrix_kernels.strided_matmul, args)
    kernel = ct.compile(matrix_kernels.strided_matmul, signature=signature, target=target, stop="ptx")
    by_threads = step * 2 % 16 != 0
    assert kernel.stage("gpu-raw").text.count("= tile_gpu.load_tile") == (1 if by_threads else 2)
    assert any(REASON in str(each) for each in kernel.all_remarks) == by_threads
    for (found,) in run_everywhere(matrix_kernels.strided_matmul, (2, 2), args, (2,), target=target, hints={}):
        assert np.array_equal(found, exact.astype(np.float16))
