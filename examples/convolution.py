"""y = convolution of images with 3 x 3 filters, as products of tiles: pixels x channels times channels x filters.

python examples/convolution.py
"""

import sys

import numpy as np

import tilec as ct

R, S = 3, 3
PADDING = 1
# A block computes TM output pixels x TN output channels, over the input channels in steps of TK.
TM, TN, TK = 128, 64, 32


def sum_of_products(images, filters, i, k):
    """The tile (i, k) of the result: the sum over the taps of the window and the input channels."""
    total = ct.zeros((TM, TN), ct.float32)
    for r in range(R):
        for s in range(S):
            for c in range(images.num_tiles(1)):
                pixels = ct.load(images, (i, c), offset=(r, s))
                weights = ct.load(filters, (r, s, c, k), (1, 1, TK, TN), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(pixels, weights.reshape((TK, TN)), total)
    return total


@ct.kernel
def convolution_kernel(x, filters, y, stride: ct.Constant[int]):
    """y [N * P * Q, K] from x [N, H, W, C] and filters [R, S, C, K]; each block computes one tile."""
    images = ct.im2col_view(x, window=(R, S), stride=stride, padding=PADDING, tile=(TM, TK))
    i, k = ct.bid(0), ct.bid(1)
    ct.store(y, (i, k), sum_of_products(images, filters, i, k).astype(y.dtype))


@ct.kernel
def persistent_kernel(x, filters, y, stride: ct.Constant[int]):
    """The same with a grid of any size: block b computes the tiles b, b + num_blocks, b + 2 num_blocks, ..."""
    images = ct.im2col_view(x, window=(R, S), stride=stride, padding=PADDING, tile=(TM, TK))
    rows, columns = ct.cdiv(y.shape[0], TM), ct.cdiv(y.shape[1], TN)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, k = number // columns, number % columns
        ct.store(y, (i, k), sum_of_products(images, filters, i, k).astype(y.dtype))


@ct.kernel
def bias_relu_kernel(x, filters, bias, y, stride: ct.Constant[int]):
    """max(convolution + bias, 0) with one rounding to the type of y."""
    images = ct.im2col_view(x, window=(R, S), stride=stride, padding=PADDING, tile=(TM, TK))
    i, k = ct.bid(0), ct.bid(1)
    total = sum_of_products(images, filters, i, k) + ct.load(bias, k, TN, padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (i, k), ct.maximum(total, 0.0).astype(y.dtype))


def convolution(x: np.ndarray, filters: np.ndarray, stride: int) -> np.ndarray:
    """The convolution in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0)))
    P, Q = ct.im2col_output_shape(x.shape[1:3], window=(R, S), stride=stride, padding=PADDING)
    # Output pixel (p, q) reads row p * stride + r and column q * stride + s.
    rows, columns = stride * (P - 1) + 1, stride * (Q - 1) + 1
    return sum(
        padded[:, r : r + rows : stride, s : s + columns : stride] @ filters[r, s].astype(np.float64)
        for r in range(R)
        for s in range(S)
    )


def run(kernel, stride: int, *bias: np.ndarray, blocks: int | None = None) -> bool:
    """Launches a kernel on random images and filters; returns whether the result is close to that in float64."""
    random = np.random.default_rng(0)
    # No extent is a multiple of its tile.
    x = random.standard_normal((2, 14, 15, 40), np.float32).astype(np.float16)
    filters = random.standard_normal((R, S, 40, 80), np.float32).astype(np.float16)
    exact, magnitude = convolution(x, filters, stride), convolution(abs(x), abs(filters), stride)
    y = np.zeros(exact.shape, np.float16)
    # The pixels of all images as the rows of a matrix.
    rows = y.reshape(-1, y.shape[-1])
    grid = (ct.cdiv(rows.shape[0], TM), ct.cdiv(rows.shape[1], TN)) if blocks is None else blocks
    ct.launch(None, grid, kernel, (x, filters, *bias, rows, stride))
    if bias:
        exact, magnitude = np.maximum(exact + bias[0], 0), magnitude + abs(bias[0])
    # One rounding of each sum to float32, of as many as there are products, and one of the result to float16.
    accumulated = (R * S * 40 + 1) * 2.0**-24 * magnitude
    tolerance = accumulated + 2.0**-11 * (abs(exact) + accumulated) + float(np.finfo(np.float16).smallest_subnormal)
    worst = float(np.max(abs(y - exact) / tolerance))
    print(f"{kernel.name}, stride {stride}: y {y.shape}, largest error {worst:.2f} of its tolerance:", end=" ")
    print("PASSED" if worst <= 1 else "FAILED")
    return worst <= 1


def main() -> int:
    bias = np.random.default_rng(1).standard_normal(80, np.float32)
    passed = [
        run(convolution_kernel, 1),
        run(convolution_kernel, 2),
        run(persistent_kernel, 1, blocks=3),
        run(bias_relu_kernel, 1, bias),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
