"""Operations of Tile IR that cannot be compiled, and hints that cannot be followed, are reported with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from test_matrix_decisions import MATMUL, matmul

import tilec
from tilec.errors import UnsupportedError, UsageError
from tilec.lowering.gpu.passes import columns_needed
from tilec.lowering.tile_to_gpu.kernel import convert

SCALED = """entry @k() {
  %x = constant <f8E4M3FN: 1.0> : tile<64x64xf8E4M3FN>
  %s = constant <f8E8M0FNU: 1.0> : tile<64x2xf8E8M0FNU>
  %r = constant <f8E8M0FNU: 1.0> : tile<2x64xf8E8M0FNU>
  %z = constant <f32: 0.0> : tile<64x64xf32>
  %m = mmaf_scaled %x, %x, %z, %s, %r : tile<64x64xf8E4M3FN>, tile<64x64xf8E4M3FN>, tile<64x64xf32>,
    tile<64x2xf8E8M0FNU>, tile<2x64xf8E8M0FNU>
  return
}"""
SPARSE = """entry @k() {
  %x = constant <i8: 1> : tile<8x32xi8>
  %e = constant <i32: 1145324612> : tile<8x2xi32>
  %y = constant <i8: 1> : tile<64x64xi8>
  %z = constant <i32: 0> : tile<8x64xi32>
  %m = tilex.mma_sparse %x, %e, %y, %z : tile<8x32xi8>, tile<8x2xi32>, tile<64x64xi8>, tile<8x64xi32>
  return
}"""
CALL = "entry @k(%n: tile<i32>) {\n  preview$call @f(%n) : (!cuda_tile.tile<i32>) -> ()\n  return\n}"
OF_SCALED = "'cuda_tile.mmaf_scaled' of f8E4M3FN with a factor of f8E8M0FNU per 32 with an accumulator of f32"
RUN = ": run the pass expand-block-scaling"


@pytest.mark.parametrize(
    ("text", "target", "line", "message"),
    [
        (CALL, "sm_100a", 2, "'cuda_tile.preview$call' cannot be compiled for sm_100a"),
        (
            SPARSE,
            "sm_100a",
            6,
            "'tilex.mma_sparse' of i8 with a sparse lhs with an accumulator of i32 cannot be compiled for sm_100a: "
            "sparse tcgen05 needs a multiple of 128 rows, the accumulator has 8; sparse mma.sync needs 16 rows, the "
            "accumulator has 8: run the pass expand-sparse",
        ),
        (
            SCALED,
            "sm_90a",
            6,
            f"{OF_SCALED} cannot be compiled for sm_90a: sm_90a has no multiply with block scaling{RUN}",
        ),
        (
            SCALED,
            "sm_100a",
            6,
            f"{OF_SCALED} cannot be compiled for sm_100a: block-scaled tcgen05 needs a multiple of 128 rows, "
            f"the accumulator has 64{RUN}",
        ),
    ],
)
def test_operation_is_refused_at_its_line(text: str, target: str, line: int, message: str) -> None:
    module = tilec.Module.parse(text, "k.mlir").ir
    with module.context, pytest.raises(UnsupportedError) as caught:
        convert(module, target=target, count_columns=columns_needed)
    assert caught.value.message == message
    assert caught.value.location is not None and caught.value.location.line == line


def test_number_of_warps_is_one_that_the_compiler_uses() -> None:
    signature = MATMUL.format(128, 128, 64)
    with pytest.raises(UsageError, match="hint warps: expected one of 4, 8, 16, got 3"):
        tilec.compile(matmul, target="sm_100a", signature=signature, hints={"warps": 3}, stop="gpu-raw")


def hints(kernel: Any, signature: str) -> list[str]:
    """The remarks about a hint of two blocks."""
    compiled = tilec.compile(kernel, target="sm_100a", signature=signature, hints={"num_ctas": 2}, stop="gpu-raw")
    return [remark.message for remark in compiled.all_remarks if remark.topic == "hint"]


@tilec.kernel
def unlike_rows(A, B, C, D):
    b = tilec.load(B, (0, 0), (64, 64))
    first = tilec.mma(tilec.load(A, (0, 0), (128, 64)), b, tilec.zeros((128, 64), tilec.float32))
    tilec.store(C, (0, 0), first)
    second = tilec.mma(tilec.load(A, (0, 0), (64, 64)), b, tilec.zeros((64, 64), tilec.float32))
    tilec.store(D, (0, 0), second)


@tilec.kernel
def three_products(A, B, C):
    a = tilec.load(A, (0, 0), (128, 64))
    for n in tilec.static_iter(range(3)):
        b = tilec.load(B, (0, n), (64, 256))
        tilec.store(C, (0, n), tilec.mma(a, b, tilec.zeros((128, 256), tilec.float32)))


@pytest.mark.parametrize(
    ("kernel", "signature", "reason"),
    [
        (
            unlike_rows,
            "A: f16[128,64], B: f16[64,64], C: f32[128,64], D: f32[64,64]",
            "another multiply has neither 64 nor 128 rows per block",
        ),
        (
            three_products,
            "A: f16[128,64], B: f16[64,768], C: f32[128,768]",
            "the accumulators need more than 512 columns of tensor memory",
        ),
    ],
)
def test_blocks_of_64_rows_that_cannot_multiply_in_pairs(kernel: Any, signature: str, reason: str) -> None:
    assert hints(kernel, signature) == [
        f"num_ctas=2 is not followed: blocks with 64 rows each must multiply in pairs, but {reason}; "
        "each tile block runs as one block"
    ]


def test_clusters_have_a_power_of_two_of_blocks() -> None:
    signature = MATMUL.format(128, 128, 64)
    compiled = tilec.compile(matmul, target="sm_100a", signature=signature, hints={"num_ctas": 3}, stop="gpu-raw")
    assert [remark.message for remark in compiled.all_remarks if remark.topic == "hint"] == [
        "num_ctas=3 is not followed: clusters have 2, 4, 8 blocks; each tile block runs as one block"
    ]
