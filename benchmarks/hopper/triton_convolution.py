"""A convolution by implicit GEMM in Triton, whose rows of pixels are gathered tap by tap."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def convolution(
    X, F, Y, images, extent, channels, filters, output, stride, padding,
    TAPS: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
):  # fmt: skip
    """Y [N, P, Q, K] from X [N, H, W, C] and F [TAPS, TAPS, C, K], of square images; a grid of one dimension."""
    columns = tl.cdiv(filters, TN)
    pixel = tl.program_id(0) // columns * TM + tl.arange(0, TM)
    column = tl.program_id(0) % columns * TN + tl.arange(0, TN)
    image, position = pixel // (output * output), pixel % (output * output)
    first_row, first_column = position // output * stride - padding, position % output * stride - padding
    depths = tl.cdiv(channels, TK)
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for step in range(TAPS * TAPS * depths):
        tap, channel = step // depths, step % depths * TK + tl.arange(0, TK)
        h, w = first_row + tap // TAPS, first_column + tap % TAPS
        is_inside = (image < images) & (h >= 0) & (h < extent) & (w >= 0) & (w < extent)
        offsets = ((image * extent + h) * extent + w)[:, None] * channels + channel[None, :]
        a = tl.load(X + offsets, mask=is_inside[:, None] & (channel < channels)[None, :], other=0.0)
        rows = (tap * channels + channel)[:, None] * filters + column[None, :]
        b = tl.load(F + rows, mask=(channel < channels)[:, None] & (column < filters)[None, :], other=0.0)
        total = tl.dot(a, b, total)
    results = pixel[:, None] * filters + column[None, :]
    is_result = (image < images)[:, None] & (column < filters)[None, :]
    tl.store(Y + results, total.to(Y.dtype.element_ty), mask=is_result)
