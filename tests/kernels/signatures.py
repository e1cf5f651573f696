"""The signatures for which each kernel of the MODULES is compiled."""

from __future__ import annotations

import batch_kernels
import convolution_kernels
import convolution_relatives
import matrix_kernels
import programs
import pytest
import sparse_kernels

from tilec.language.kernel import Kernel

MODULES = (programs, matrix_kernels, sparse_kernels, batch_kernels, convolution_kernels, convolution_relatives)
KERNELS = {name: value for module in MODULES for name, value in vars(module).items() if isinstance(value, Kernel)}

HALF, SINGLE, TILE = "f16[?,?]", "f32[?,?]", "tm=128, tn=64, tk=64"
MATMUL = f"A: {HALF}, B: {HALF}, C: {HALF}, {TILE}"
IMAGES, DEEP_IMAGES, SEQUENCES = "f16[?,?,?,?]", "f16[?,?,?,?%8]", "f16[?,?,?]"
# Types of operands and accumulators, and elements along K.
SMALL_PRODUCTS = (
    ("f16", "f32", 64),
    ("f16", "f16", 8),
    ("bf16", "f32", 64),
    ("f8E4M3FN", "f32", 16),
    ("f8E5M2", "f16", 64),
    ("i8", "i32", 64),
    ("f64", "f64", 4),
    ("f64", "f64", 32),
)


def convolution(element: str, dimensions: str, tile: str, mode: str | None = None, flags: str = "") -> str:
    """The signature of a convolution with windows of 3 and padding on one side only, of images of unknown extents."""
    extents = ",".join("?" * (2 + len(dimensions)))
    values = {"s": 3, "d": 2, "u": 2, "l": 1, "h": 0}
    constants = ", ".join(f"{name}{along}={value}" for name, value in values.items() for along in dimensions)
    flags = flags or "by_filter=True, persistent=False"
    return (
        f"X: {element}[{extents}], F: {element}[?,?,?], Y: f32[{extents}], {constants}, {tile}, mode={mode!r}, {flags}"
    )


SIGNATURES = {
    "matmul": [MATMUL, MATMUL.replace("f16", "bf16"), f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, tm=64, tn=64, tk=32"],
    "product": [
        f"A: {operand}[?,?], B: {operand}[?,?], C: {result}[?,?], tm={rows}, tn=64, tk={depth}"
        for operand, result, depth in SMALL_PRODUCTS
        for rows in (1, 32)
    ],
    "accumulated_product": [
        f"A: {left}[?,?], B: {right}[?,?], C: {sum}[?,?], {tile}, fast=False"
        for left, right, sum, tile in (
            ("f8E4M3FN", "f8E4M3FN", "f32", TILE),
            ("f8E5M2", "f8E5M2", "f16", TILE),
            ("i8", "u8", "i32", TILE),
            ("i8", "i8", "i32", "tm=16, tn=16, tk=16"),
        )
    ],
    "matmul_tf32": [
        f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, tm=128, tn=64, tk=32",
        f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, tm=16, tn=64, tk=32",
    ],
    "matmul_f16_accumulator": [MATMUL],
    "two_products": [f"A: {HALF}, B: {HALF}, C: {HALF}, P: {HALF}, Q: {HALF}, {TILE}"],
    "product_and_row_sums": [
        f"A: {HALF}, B: {HALF}, C: {SINGLE}, R: f32[?], tm=128, tn=64, tk=64",
        f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, R: f32[?], tm=32, tn=32, tk=32",
    ],
    "product_under_if_and_tile": [f"A: {HALF}, B: {HALF}, C: {SINGLE}, R: {HALF}, wanted: i32, t=32"],
    "chained": [f"A: {HALF}, B: {HALF}, C: {HALF}, D: {HALF}, {TILE}"],
    "single": [f"A: {HALF}, B: {HALF}, C: {SINGLE}, D: {SINGLE}, {TILE}"],
    "repeated_product": [f"A: {HALF}, B: {HALF}, C: {SINGLE}, times: i32, {TILE}"],
    "scaled_operand": [MATMUL],
    "rescaled": [MATMUL],
    "rescaled_in_two_loops": [MATMUL],
    "persistent": [MATMUL],
    "under_if": [MATMUL],
    "stores_under_flags": [f"A: {HALF}, B: {HALF}, C: {HALF}, F: i32[?,?], R: i32[?,?], {TILE}"],
    "rescaled_under_flags": [f"A: {HALF}, B: {HALF}, C: {HALF}, F: i32[?,?], {TILE}"],
    "strided": [f"X: {HALF}, Y: {HALF}, rows=32, columns=64, row_step=48, column_step=32"],
    "strided_matmul": [f"{MATMUL}, step=48"],
    "softmax": [f"X: {SINGLE}, Y: {SINGLE}, rows=128, columns=256", f"X: {HALF}, Y: {HALF}, rows=128, columns=256"],
    "sums": [f"X: {SINGLE}, R: f32[?], C: f32[?], rows=128, columns=64"],
    "attention": [f"Q: {HALF}, K: {HALF}, V: {HALF}, O: {HALF}, scale=0.125, tm=128, tn=64, width=64"],
    "in_place": [f"X: {SINGLE}, rows=64, columns=64"],
    "early_exits": ["X: i32[?], Y: i32[?], size=64, limit=3000"],
    "gathered": ["X: f32[?], I: i32[?], Y: f32[?], size=64"],
    "embedding": [
        f"Token: i32[?], W: {HALF}, Y: {HALF}, tokens=32, width=64",
        f"Token: i64[?], W: {SINGLE}, Y: {SINGLE}, tokens=8, width=16",
    ],
    "permuted_columns": [f"X: {SINGLE}, Column: i32[?], Y: {SINGLE}, rows=16, columns=32"],
    "experts": [
        f"X: {HALF}, W: f16[?,?,?], Pair: i32[?], Expert: i32[?], Y: {HALF}, choices=2, {TILE}",
        f"X: {SINGLE}, W: f32[?,?,?], Pair: i32[?], Expert: i32[?], Y: {SINGLE}, choices=1, tm=32, tn=32, tk=32",
    ],
    "gathered_product": [
        f"X: {HALF}, Row: i32[?], W: {HALF}, Y: {HALF}, {TILE}",
        f"X: {HALF}, Row: i64[?], W: {HALF}, Y: {HALF}, tm=64, tn=32, tk=128",
        f"X: {SINGLE}, Row: i32[?], W: {SINGLE}, Y: {SINGLE}, tm=32, tn=32, tk=32",
    ],
    "gathered_product_in_tf32": [f"X: {SINGLE}, Row: i32[?], W: {SINGLE}, Y: {SINGLE}"],
    "weighted_choices": [f"Y: {HALF}, Weight: {SINGLE}, Out: {SINGLE}, choices=2, tokens=16, width=64"],
    "paged_attention": [
        f"Q: {HALF}, K: {HALF}, V: {HALF}, Page: i32[?], O: {HALF}, length: i32, scale=0.125, tm=128, tn=64, width=64"
    ],
    "largest": [
        f"X: {SINGLE}, Value: {SINGLE}, Index: i32[?,?], count=8, rows=16, columns=64",
        f"X: {HALF}, Value: {HALF}, Index: i32[?,?], count=2, rows=4, columns=256",
    ],
    "batched": [f"A: f16[?,?,?], B: f16[?,?,?], C: f16[?,?,?], {TILE}"],
    "batches": [
        "A: f16[?,?,?], B: f16[?,?,?], C: f16[?,?,?], tb=4, tm=64, tn=64, tk=64",
        "A: f32[?,?,?], B: f32[?,?,?], C: f32[?,?,?], tb=64, tm=8, tn=8, tk=8",
    ],
    "batches_of_type": [
        "A: i8[?,?,?], B: i8[?,?,?], C: i32[?,?,?], tb=4, tm=64, tn=32, tk=32",
        "A: f8E4M3FN[?,?,?], B: f8E4M3FN[?,?,?], C: f32[?,?,?], tb=4, tm=64, tn=32, tk=32",
        "A: f64[?,?,?], B: f64[?,?,?], C: f64[?,?,?], tb=8, tm=16, tn=16, tk=8",
    ],
    "batches_from_memory": [
        "A: f16[?,?,?], B: f16[?,?,?], C: f32[?,?,?], D: f32[?,?,?], tb=2, tm=64, tn=32, tk=64",
    ],
    "batches_chained": ["A: bf16[?,?,?], B: bf16[?,?,?], D: f32[?,?,?], tb=2, t=64"],
    "fourier": ["X: f32[?,?,?], R: f32[?,?], Y: f32[?,?,?], tb=2, f=8, g=16"],
    "exchanged_parts": [
        f"X: {SINGLE}, I: i32[?,?], Z: {SINGLE}, rows=64, columns=32, part_rows=16, part_columns=32",
        f"X: {SINGLE}, I: i32[?,?], Z: {SINGLE}, rows=16, columns=64, part_rows=4, part_columns=2",
        f"X: {SINGLE}, I: i32[?,?], Z: {SINGLE}, rows=128, columns=128, part_rows=32, part_columns=64",
    ],
    "layer_norm": [f"X: {SINGLE}, W: f32[?], B: f32[?], Y: {SINGLE}, eps=0.00001, size=512"],
    "quantized": [
        f"X: {SINGLE}, Q: u8[?,?], S: f8E8M0FNU[?,?], rows=16, blocks=4",
        f"X: {HALF}, Q: u8[?,?], S: f8E8M0FNU[?,?], rows=4, blocks=16",
    ],
    "dequantized": [
        f"Q: u8[?,?], S: f8E8M0FNU[?,?], X: {SINGLE}, rows=16, blocks=4",
        f"Q: u8[?,?], S: f8E8M0FNU[?,?], X: {HALF}, rows=4, blocks=16",
    ],
    "asserted_halves": ["X: i32[?], Y: i32[?], size=128"],
    "printed_sums": [f"X: {SINGLE}, rows=16, columns=8", f"X: {HALF}, rows=32, columns=16"],
    "input_gradient": [
        f"DY: {IMAGES}, F: {IMAGES}, DX: {IMAGES}, R=3, S=2, dilation=2, padding=1, {TILE}",
        "DY: bf16[?,?,?,?], F: bf16[?,?,?,?], DX: f32[?,?,?,?], R=1, S=1, dilation=1, padding=0, tm=64, tn=32, tk=32",
    ],
    "strided_input_gradient": [
        f"DY: {IMAGES}, F: {IMAGES}, DX: {IMAGES}, R=3, stride=2, padding=1, {TILE}",
        f"DY: {IMAGES}, F: {IMAGES}, DX: {IMAGES}, R=2, stride=3, padding=0, {TILE}",
    ],
    "filter_gradient": [
        f"X: {IMAGES}, DY: {IMAGES}, DF: f32[?,?,?,?], R=3, S=3, stride=2, dilation=1, padding=1, {TILE}",
    ],
    "filter_gradient_in_parts": [
        f"X: {IMAGES}, DY: {IMAGES}, DF: f32[?,?,?,?], R=3, S=3, stride=1, padding=1, parts=4, {TILE}",
    ],
    "grouped": [f"X: {IMAGES}, F: {IMAGES}, Y: {IMAGES}, R=3, S=3, stride=1, padding=1, {TILE}"],
    "grouped_slices": [f"X: {IMAGES}, F: {IMAGES}, Y: {IMAGES}, R=3, S=3, stride=1, padding=1, {TILE}"],
    "depthwise": [
        f"X: {images}, F: {filters}, Y: {images}, R=3, S=3, stride=1, dilation=1, padding=1, tm=64, tc=64"
        for images, filters in ((IMAGES, SEQUENCES), (DEEP_IMAGES, "f16[?,?,?%8]"))
    ],
    "pointwise": [f"X: {IMAGES}, F: {HALF}, Y: {IMAGES}, stride=1, {TILE}"],
    "max_pool": [
        f"X: {images}, Y: {images}, R=3, S=3, stride=2, padding=1, tm=64, tc=64"
        for images in (IMAGES, DEEP_IMAGES, "f32[?,?,?,?]")
    ],
    "average_pool": [
        f"X: {IMAGES}, Y: {IMAGES}, R=3, S=3, stride=2, padding=1, tm=64, tc=64, count_padding={count}"
        for count in (True, False)
    ],
    "causal": [f"X: {SEQUENCES}, F: {SEQUENCES}, Y: {SEQUENCES}, S=4, dilation=1, {TILE}"],
    "causal_depthwise": [f"X: {SEQUENCES}, F: {HALF}, B: f16[?], Y: {SEQUENCES}, S=4, tm=64, tc=64"],
    "volumes": [f"X: f16[?,?,?,?,?], F: f16[?,?,?,?,?], Y: f16[?,?,?,?,?], T=3, R=3, S=3, stride=1, padding=1, {TILE}"],
    "convolution_1d": [convolution("bf16", "w", "tm=64, tn=32, tk=16", "im2col")],
    "convolution_2d": [
        convolution("f16", "hw", TILE),
        convolution("f16", "hw", TILE, None, "by_filter=False, persistent=True"),
        convolution("f32", "hw", "tm=256, tn=64, tk=32"),
        convolution("f8E4M3FN", "hw", "tm=128, tn=32, tk=128"),
        # Strides that are not multiples of 16 bytes: a gather.
        convolution("f16", "hw", TILE).replace(", F:", " align 2, F:"),
    ],
    "convolution_3d": [convolution("f8E5M2", "dhw", "tm=128, tn=64, tk=64"), convolution("f16", "dhw", TILE)],
    "running_sum": [f"X: {SINGLE}, Y: {SINGLE}, rows=64, columns=64"],
}
CASES = [
    pytest.param(name, text, id=f"{name}-{number}")
    for name, texts in SIGNATURES.items()
    for number, text in enumerate(texts)
]
