"""Rows of scans and recurrences, of kernels without matrix products, and of convolutions."""

from __future__ import annotations

from typing import Any

from sheet.case import Array, Case, Scalar

_FLOATS, _COUNTS = Array("float32", 2), Array("int32", 1)


def _scan(name: str, kernel: str, *arguments: Any, **more: Any) -> Case:
    return Case(name, "sheet.kernels_scans", kernel, arguments, **more)


_TIMES = Array("float16", 3)
_HEADS = Array("float16", 4)
SCANS = (
    _scan(
        "cumsum f32 2048", "cumulative_sum", _FLOATS, _FLOATS, 2048,
        triton="cumulative_sum", constants={"BLOCK": 2048},
    ),
    _scan(
        "selective scan 16 states 4x128", "selective_scan",
        _TIMES, _TIMES, _FLOATS, _TIMES, _TIMES, Array("float32", 1), _TIMES, 16, 4, 128,
    ),
    *(
        _scan(
            f"linear attention {size} d{width}", "linear_attention",
            *(_HEADS,) * 3, Array("float32", 1), _HEADS, 16, width, size,
        )
        for size, width in ((64, 64), (64, 128), (128, 128))
    ),
    _scan("n-body f32 128x128", "gravity", _FLOATS, _FLOATS, Scalar("int32"), 128, 128),
    _scan("histogram 256 bins x256", "histogram", _COUNTS, _COUNTS, 256, 256),
    _scan("histogram scattered x1024", "scattered_histogram", _COUNTS, _COUNTS, 1024),
    _scan("top-k 8 of 256", "largest_of_row", _FLOATS, _FLOATS, Array("int32", 2), 8, 256),
)  # fmt: skip


def _convolution(taps: int, stride: int, tile: tuple[int, int, int], mode: str) -> Case:
    """A layer of 32 images of 56 x 56 pixels, padded so that stride 1 keeps their size."""
    images, filters, results = ((32, 56, 56), (taps, taps), (32, 56 // stride, 56 // stride))
    arrays = (Array("float16", 4, known) for known in (images, filters, results))
    window = f"{taps}x{taps}" + (f"/{stride}" if stride > 1 else "")
    name = f"convolution {mode} {window} {'x'.join(map(str, tile))}"
    arguments = (*arrays, stride, taps // 2, *tile, mode)
    return Case(name, "convolution_kernel", "convolution", arguments, is_tilex=True)


CONVOLUTIONS = (
    *(_convolution(taps, 1, (128, 128, 64), "im2col") for taps in (1, 3)),
    _convolution(3, 1, (128, 256, 64), "im2col"),
    _convolution(3, 2, (128, 128, 64), "im2col"),
    _convolution(7, 2, (128, 64, 16), "im2col"),
    _convolution(3, 1, (128, 128, 64), "run"),
    _convolution(3, 1, (128, 256, 64), "run"),
)
