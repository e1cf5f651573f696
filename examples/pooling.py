"""Maximum and average of each window of images, through the view that convolutions use.

python examples/pooling.py
"""

import sys

import numpy as np

import tilec as ct

R, S = 3, 3
STRIDE = 2
PADDING = 1
# A block computes TM output pixels x TC channels.
TM, TC = 32, 32


def first_elements(view, i):
    """The rows and the columns that the pixels of tile i read at the tap (0, 0), one pixel per row of a tile."""
    P, Q = view.output_shape
    pixel = i * TM + ct.arange(TM, dtype=ct.int32)[:, None]
    return pixel // Q % P * STRIDE - PADDING, pixel % Q * STRIDE - PADDING


def exists(x, h, w):
    """Whether x has an element in these rows and columns; the view reads zeros elsewhere."""
    return (h >= 0) & (h < x.shape[1]) & (w >= 0) & (w < x.shape[2])


@ct.kernel
def max_kernel(x, y):
    """The largest element of each window; zeros of the padding must not be larger than negative elements."""
    images = ct.im2col_view(x, window=(R, S), stride=STRIDE, padding=PADDING, tile=(TM, TC))
    i, c = ct.bid(0), ct.bid(1)
    h, w = first_elements(images, i)
    largest = ct.full((TM, TC), float("-inf"), x.dtype)
    for r in range(R):
        for s in range(S):
            pixels = ct.load(images, (i, c), offset=(r, s))
            largest = ct.maximum(largest, ct.where(exists(x, h + r, w + s), pixels, float("-inf")))
    ct.store(ct.im2col_view(y, window=1, tile=(TM, TC)), (i, c), largest)


@ct.kernel
def average_kernel(x, y, count_padding: ct.Constant[bool]):
    """The mean of each window: zeros of the padding count, or only the elements of x."""
    images = ct.im2col_view(x, window=(R, S), stride=STRIDE, padding=PADDING, tile=(TM, TC))
    i, c = ct.bid(0), ct.bid(1)
    h, w = first_elements(images, i)
    total, count = ct.zeros((TM, TC), ct.float32), ct.zeros((TM, 1), ct.float32)
    for r in range(R):
        for s in range(S):
            total = total + ct.load(images, (i, c), offset=(r, s)).astype(ct.float32)
            count = count + (1.0 if count_padding else ct.where(exists(x, h + r, w + s), 1.0, 0.0))
    ct.store(ct.im2col_view(y, window=1, tile=(TM, TC)), (i, c), (total / count).astype(y.dtype))


def windows(x: np.ndarray, outside: float) -> np.ndarray:
    """The elements of each window, [R * S, N, P, Q, C]; `outside` stands for the elements that x does not have."""
    padded = np.pad(x, ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0)), constant_values=outside)
    P, Q = ct.im2col_output_shape(x.shape[1:3], window=(R, S), stride=STRIDE, padding=PADDING)
    rows, columns = STRIDE * (P - 1) + 1, STRIDE * (Q - 1) + 1
    return np.stack([padded[:, r : r + rows : STRIDE, s : s + columns : STRIDE] for r, s in np.ndindex(R, S)])


def run(kernel, x: np.ndarray, exact: np.ndarray, tolerance: float, *constants: bool) -> bool:
    y = np.zeros(exact.shape, np.float32)
    ct.launch(None, (ct.cdiv(y[..., 0].size, TM), ct.cdiv(y.shape[3], TC)), kernel, (x, y, *constants))
    passed = bool(np.all(abs(y - exact) <= tolerance * abs(exact)))
    print(f"{kernel.name}{constants or ''} of {x.shape}: y {y.shape}:", "PASSED" if passed else "FAILED")
    return passed


def main() -> int:
    # Small negative integers, whose sums are exact. No extent is a multiple of its tile.
    x = -np.random.default_rng(0).integers(1, 9, (2, 13, 14, 40)).astype(np.float32)
    taken = windows(x.astype(np.float64), np.nan)
    passed = [
        run(max_kernel, x, np.nanmax(taken, axis=0), 0.0),
        # One rounding of the quotient.
        run(average_kernel, x, np.nansum(taken, axis=0) / (R * S), 2.0**-24, True),
        run(average_kernel, x, np.nanmean(taken, axis=0), 2.0**-24, False),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
