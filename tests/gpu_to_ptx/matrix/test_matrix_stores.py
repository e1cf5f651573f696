"""Fragments of 16-bit elements are stored to shared memory by stmatrix; other layouts and elements by vectors."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from simulated import run_ptx
from test_wgmma_operand import ptx_of_stage

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.mma_sync import mma_sync_accumulator
from tilec.lowering.layout.tensor_layout import tensor_memory_16x256b
from tilec.lowering.layout.wgmma import wgmma_accumulator

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i16": np.int16, "f32": np.float32}


def copied(element: str, layout: LinearLayout, contiguous: int, swizzle: str, target: str = "sm_90a") -> str:
    """A kernel that loads a tile in a layout, and copies it through shared memory to one where lanes are along rows."""
    (rows, columns), warps = layout.shape, layout.warps
    return f"""
!t = tensor<{rows}x{columns}x{element}, "{layout}">
!u = tensor<{rows}x{columns}x{element}, "{blocked((rows, columns), warps)}">
!s = buffer<{rows}x{columns}x{element}, shared, contiguous={contiguous} swizzle={swizzle}>
tile_gpu.kernel @k(%p: i64, %q: i64) target "{target}" warps {warps} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant {rows} : i32
  %columns = arith.constant {columns} : i32
  %buffer = tile_gpu.shared : !s
  %t = tile_gpu.load_view %p[%zero, %zero] extents [%rows, %columns] strides [%columns, %one] vector 1 : !t
  tile_gpu.store_shared %t, %buffer : !t -> !s
  tile_gpu.barrier
  %u = tile_gpu.load_shared %buffer : !s -> !u
  tile_gpu.store_view %u -> %q[%zero, %zero] extents [%rows, %columns] strides [%columns, %one] vector 1 : !u
}}
"""


def stored(ptx: str) -> list[str]:
    """The distinct instructions that store to shared memory."""
    return sorted(set(re.findall(r"stmatrix\S*|st\.shared\S*", ptx)))


def assert_copies(ptx: str, element: str, layout: LinearLayout) -> None:
    tile = np.arange(layout.size).reshape(layout.shape).astype(TYPES[element])
    result = np.zeros_like(tile)
    run_ptx(ptx, [tile, result], warps=layout.warps)
    np.testing.assert_array_equal(result.view(np.uint8), tile.view(np.uint8))


MATRICES = "stmatrix.sync.aligned.m8n8.x4.shared.b16"
TRANSPOSED = "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"


@pytest.mark.parametrize(("contiguous", "instruction"), [(1, MATRICES), (0, TRANSPOSED)])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_accumulators_are_stored_by_matrices(contiguous, swizzle, instruction):
    layout = wgmma_accumulator((64, 64), 4)
    ptx = ptx_of_stage(copied("f16", layout, contiguous, swizzle))
    assert stored(ptx) == [instruction]
    # 32 elements of a thread, eight in an instruction.
    assert ptx.count("stmatrix") == 4
    assert_copies(ptx, "f16", layout)


@pytest.mark.parametrize("element", ["bf16", "i16"])
@pytest.mark.parametrize(
    "layout",
    [
        wgmma_accumulator((128, 32), 4),
        wgmma_accumulator((128, 128), 8),
        tensor_memory_16x256b((64, 32), 4),
        mma_sync_accumulator((64, 64), 4, 2),
    ],
)
def test_other_fragments(layout, element):
    ptx = ptx_of_stage(copied(element, layout, 1, "64B"))
    assert stored(ptx) == [MATRICES]
    assert_copies(ptx, element, layout)


def test_a_fragment_of_two_matrices():
    layout = wgmma_accumulator((64, 8), 4)
    ptx = ptx_of_stage(copied("f16", layout, 1, "none"))
    assert stored(ptx) == ["stmatrix.sync.aligned.m8n8.x2.shared.b16"]
    assert_copies(ptx, "f16", layout)


@pytest.mark.parametrize(
    ("element", "layout"),
    [
        # Four bytes: a register is an element.
        ("f32", wgmma_accumulator((64, 32), 4)),
        # Vectors of a thread are as wide as a row of a matrix.
        ("f16", blocked((64, 64), 4, vector=8)),
        # Four warps hold copies of 16 rows.
        (
            "f16",
            LinearLayout(((0, 1), (8, 0), (0, 8)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((0, 0),) * 2, (16, 16)),
        ),
    ],
)
def test_what_is_no_fragment_is_stored_by_vectors(element, layout):
    ptx = ptx_of_stage(copied(element, layout, 1, "none"))
    assert stored(ptx) and "stmatrix" not in ptx
    assert_copies(ptx, element, layout)
