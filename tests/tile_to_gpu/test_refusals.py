"""Operations of Tile IR that cannot be compiled, and hints that cannot be followed, are reported with the reason."""

from __future__ import annotations

import pytest
from test_matrix_decisions import MATMUL, matmul

import tilec
from tilec.errors import UnsupportedError, UsageError
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
CALL = "entry @k(%n: tile<i32>) {\n  preview$call @f(%n) : (!cuda_tile.tile<i32>) -> ()\n  return\n}"
OF_SCALED = "'cuda_tile.mmaf_scaled' of f8E4M3FN with a factor of f8E8M0FNU per 32 with an accumulator of f32"
RUN = ": run the pass expand-block-scaling"


@pytest.mark.parametrize(
    ("text", "target", "line", "message"),
    [
        (CALL, "sm_100a", 2, "'cuda_tile.preview$call' cannot be compiled for sm_100a"),
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
        convert(module, target=target)
    assert caught.value.message == message
    assert caught.value.location is not None and caught.value.location.line == line


def test_number_of_warps_is_one_that_the_compiler_uses() -> None:
    signature = MATMUL.format(128, 128, 64)
    with pytest.raises(UsageError, match="hint warps: expected one of 4, 8, 16, got 3"):
        tilec.compile(matmul, target="sm_100a", signature=signature, hints={"warps": 3}, stop="gpu-raw")


def test_clusters_have_a_power_of_two_of_blocks() -> None:
    signature = MATMUL.format(128, 128, 64)
    compiled = tilec.compile(matmul, target="sm_100a", signature=signature, hints={"num_ctas": 3}, stop="gpu-raw")
    assert [remark.message for remark in compiled.remarks if remark.topic == "hint"] == [
        "num_ctas=3 is not followed: clusters have 2, 4, 8 blocks; each tile block runs as one block"
    ]
