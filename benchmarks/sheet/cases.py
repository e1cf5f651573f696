"""The kernels of the sheet with their arguments; the name of a case is that of its rows."""

from __future__ import annotations

from typing import Any

from sheet.case import SM90, SM100, TARGETS, Array, Case, Scalar, matrices, tile_constants
from sheet.cases_attention import ATTENTION, GRADIENTS, SERVING
from sheet.cases_products import SCALED, WEIGHTS
from sheet.cases_scans import CONVOLUTIONS, SCANS

__all__ = ["CASES", "SM90", "SM100", "TARGETS", "Array", "Case", "Scalar"]
# The queries and the keys of attention, over which the mean of causal loops is taken.
SEQUENCE = 4096


def gemm(name: str, kernel: str, tile: tuple[int, int, int], dtype: str = "float16", **more: Any) -> Case:
    """A product with these tiles: its name says their rows, columns and depth."""
    shape = "x".join(map(str, tile))
    arguments = (*matrices(dtype), *tile)
    return Case(f"{name} {shape}", "sheet.kernels", kernel, arguments, constants=tile_constants(tile), **more)


def _bias_gelu(tile: tuple[int, int, int]) -> Case:
    arguments = (*matrices("float16", count=1), Array("float16", 1), Array("float16", 2), *tile)
    return Case(
        f"gemm bias gelu {'x'.join(map(str, tile))}", "sheet.kernels", "matmul_bias_gelu", arguments,
        "matmul_bias_gelu", tile_constants(tile),
    )  # fmt: skip


def attention(rows: int, keys: int, width: int, *, causal: bool) -> Case:
    """Attention with these tiles of queries and keys, and this many columns."""
    arguments = (
        *(Array("float16", 4) for _ in range(4)),
        Scalar("float32"),
        Scalar("int32"),
        *(width, 32, rows, keys, 1, causal, True),
    )
    name = f"attention {'causal' if causal else 'full'} {rows}x{keys} d{width}"
    constants = {"TM": rows, "TN": keys, "D": width, "CAUSAL": int(causal)}
    # Tile block i has i * rows keys without a mask and `rows` keys with one.
    without_mask = (SEQUENCE // rows - 1) / 2 * rows / keys
    iterations = (without_mask, rows / keys) if causal else ()
    return Case(name, "cutile.attention", "attention", arguments, "attention", constants, iterations)


def _rows(name: str, kernel: str, *arguments: Any, module: str = "sheet.kernels", **more: Any) -> Case:
    return Case(name, module, kernel, arguments, **more)


_HALF, _HALVES, _FLOATS = Array("float16", 1), Array("float16", 2), Array("float32", 2)

# The cases that hopper/timing.py also measures on a GPU; hopper/problems.py has their arrays.
DENSE = (
    gemm("gemm", "matmul", (128, 128, 64), triton="matmul"),
    gemm("gemm", "matmul", (128, 256, 64), triton="matmul"),
    gemm("gemm", "matmul_of_one_block", (256, 256, 64)),
    gemm("gemm 2 CTAs", "matmul_of_pairs", (128, 256, 64)),
    gemm("gemm 2 CTAs", "matmul_of_pairs", (256, 256, 64)),
    gemm("gemm persistent", "persistent_matmul", (128, 128, 64), triton="persistent_matmul"),
    gemm("gemm persistent", "persistent_matmul", (128, 256, 64), triton="persistent_matmul"),
    gemm("gemm persistent", "persistent_matmul_of_one_block", (256, 256, 64)),
    gemm("gemm persistent 2 CTAs", "persistent_matmul_of_pairs", (256, 256, 64)),
    _rows(
        "gemm gated 128x256x64", "gated_matmul", *(_HALVES,) * 4, 128, 256, 64,
        triton="gated_matmul", constants=tile_constants((128, 256, 64)),
    ),
    _bias_gelu((128, 128, 64)),
    _bias_gelu((128, 256, 64)),
    gemm("gemm fp8", "matmul", (128, 128, 128), "float8_e4m3fn", triton="matmul"),
    gemm("gemm decode", "matmul", (16, 128, 128)),
    *(attention(128, 128, width, causal=causal) for width in (64, 128, 256) for causal in (False, True)),
    *(attention(256, 128, 128, causal=causal) for causal in (False, True)),
    _rows("softmax f32 4096", "softmax", _FLOATS, _FLOATS, 4096, triton="softmax", constants={"BLOCK": 4096}),
    _rows("softmax f16 4096", "softmax", _HALVES, _HALVES, 4096, triton="softmax", constants={"BLOCK": 4096}),
    _rows(
        "layer norm f16 1024", "layer_norm", _HALVES, _HALF, _HALF, _HALVES, Array("float32", 1), Array("float32", 1),
        Scalar("float32"), 1024, module="cutile.layer_norm", triton="layer_norm", constants={"BLOCK": 1024},
    ),
    _rows(
        "rms norm f16 1024", "rms_norm", _HALVES, _HALF, _HALVES, Scalar("float32"), 1024,
        triton="rms_norm", constants={"BLOCK": 1024},
    ),
    _rows("rms norm gathered f16 1024", "gathered_rms_norm", _HALVES, _HALF, _HALVES, Scalar("float32"), 1024),
    _rows("rms norm persistent f16 4x1024", "persistent_rms_norm", _HALVES, _HALF, _HALVES, Scalar("float32"), 4, 1024),
    _rows(
        "add f16 1024", "add", _HALF, _HALF, _HALF, 1024, module="cutile.addition",
        triton="add", constants={"BLOCK": 1024},
    ),
    _rows("transpose f16 64x64", "transpose", _HALVES, _HALVES, 64, 64, module="cutile.transpose"),
    _rows("row sum f32 4x1024", "row_sum", _FLOATS, Array("float32", 1), 4, 1024),
    _rows("embedding f16 64x64", "embedding", Array("int32", 1), _HALVES, _HALVES, 64, 64),
    _rows(
        "moe f16 128x128x64", "expert_matmul", _HALVES, Array("float16", 3), _HALVES, Array("float32", 1),
        Array("int32", 1), Array("int32", 1), Scalar("int32"), False, 128, 128, 64, module="cutile.experts",
    ),
    _rows(
        "fft f32 64", "fft", *(Array("float32", 3) for _ in range(7)), 64, 4, 4, 4, 2, 16, module="cutile.fft",
    ),
)  # fmt: skip

CASES = (*DENSE, *ATTENTION, *GRADIENTS, *SERVING, *SCALED, *WEIGHTS, *SCANS, *CONVOLUTIONS)
