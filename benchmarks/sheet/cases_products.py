"""Rows of products: with scales, of groups, of quantized weights, and of parts of the depth."""

from __future__ import annotations

from typing import Any

from sheet.case import SLICES, Array, Case, tile_constants

_HALVES, _FLOATS = Array("float16", 2), Array("float32", 2)
_BFLOATS = Array("bfloat16", 2)
# For each format: the type of the operands in memory, their elements per byte, the type and the block of the scales.
_FORMATS = {
    "mxfp8": ("float8_e4m3fn", 1, "float8_e8m0fnu", 32),
    "mxfp4": ("uint8", 2, "float8_e8m0fnu", 32),
    "nvfp4": ("uint8", 2, "float8_e4m3fn", 16),
}
# Kernels that Triton has by the same name.
_IN_TRITON = ("grouped_matmul", "matmul_of_byte_weights", "split_matmul")


def _shape(tile: tuple[int, int, int]) -> str:
    return "x".join(map(str, tile))


def _scaled(form: str, tile: tuple[int, int, int], *, pairs: bool = False) -> Case:
    dtype, packed, scale, block = _FORMATS[form]
    operand, scales = Array(dtype, 2), Array(scale, 4)
    arguments = (operand, scales, operand, scales, _BFLOATS, *tile, block, packed)
    kernel = "scaled_matmul_of_pairs" if pairs else "scaled_matmul"
    return Case(f"{form}{' 2 CTAs' if pairs else ''} {_shape(tile)}", "sheet.kernels_scaled", kernel, arguments)


def _product(name: str, kernel: str, arrays: tuple[Array, ...], tile: tuple[int, int, int], *more: Any) -> Case:
    triton = kernel if kernel in _IN_TRITON else None
    constants = tile_constants(tile) | ({"PARTS": more[0]} if more else {})
    hints = SLICES if kernel.endswith("of_slices") else {}
    arguments = (*arrays, *more, *tile)
    return Case(f"{name} {_shape(tile)}", "sheet.kernels_weights", kernel, arguments, triton, constants, hints=hints)


_BYTES = Array("float8_e4m3fn", 2)
SCALED = (
    *(_scaled("mxfp8", tile) for tile in ((128, 128, 128), (128, 256, 128))),
    *(_scaled("mxfp8", tile, pairs=True) for tile in ((256, 128, 128), (256, 256, 128))),
    *(_scaled(form, (128, 256, 256)) for form in ("mxfp4", "nvfp4")),
    *(_scaled(form, (256, 256, 256), pairs=True) for form in ("mxfp4", "nvfp4")),
    Case(
        "mxfp8 flat scales 128x128x128", "sheet.kernels_scaled", "rows_scaled_matmul",
        (_BYTES, Array("float8_e8m0fnu", 2), _BYTES, Array("float8_e8m0fnu", 2), _BFLOATS, 128, 128, 128, 32),
    ),
    *(
        Case(
            f"fp8 block scales {_shape(tile)}", "sheet.kernels_scaled", "block_matmul",
            (_BYTES, _FLOATS, _BYTES, _FLOATS, _BFLOATS, *tile),
        )
        for tile in ((128, 128, 128), (64, 128, 128))
    ),
)  # fmt: skip
_GROUPS = (Array("bfloat16", 2), Array("bfloat16", 3), Array("int32", 1), Array("bfloat16", 2))
_BYTE_WEIGHTS = (_HALVES, Array("int8", 2), Array("float16", 1), _HALVES)
_NIBBLE_WEIGHTS = (_HALVES, Array("uint8", 2), _HALVES, _HALVES, _HALVES)
_PARTS = (_HALVES, _HALVES, _FLOATS)
_LOSS = (_BFLOATS, _BFLOATS, Array("int32", 1), Array("float32", 1))
WEIGHTS = (
    *(_product("grouped gemm", "grouped_matmul", _GROUPS, tile) for tile in ((128, 128, 64), (128, 256, 64))),
    *(
        _product("grouped gemm slices", "grouped_matmul_of_slices", _GROUPS, tile)
        for tile in ((128, 128, 64), (128, 256, 64))
    ),
    *(
        _product("w8a16", "matmul_of_byte_weights", _BYTE_WEIGHTS, tile)
        for tile in ((128, 128, 64), (128, 256, 64), (16, 128, 128))
    ),
    *(
        _product("w4a16", "matmul_of_nibble_weights", _NIBBLE_WEIGHTS, tile)
        for tile in ((128, 128, 128), (16, 128, 128))
    ),
    *(_product("stream K", "matmul_of_equal_parts", _PARTS, tile) for tile in ((128, 128, 64), (128, 256, 64))),
    *(_product("split K", "split_matmul", _PARTS, tile, 4) for tile in ((128, 128, 64), (64, 64, 128))),
    *(
        _product("fused linear cross entropy", "linear_cross_entropy", _LOSS, tile)
        for tile in ((128, 128, 64), (128, 256, 64))
    ),
    *(_product("gemm f32", "float_matmul", (_FLOATS,) * 3, tile) for tile in ((128, 128, 32), (64, 64, 32))),
)
