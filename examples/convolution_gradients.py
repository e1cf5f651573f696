"""The gradients of y = convolution of images with filters [R, S, C, K], as products of tiles like y itself.

python examples/convolution_gradients.py
"""

import sys

import numpy as np

import tilec as ct

R, S = 3, 3
PADDING = 1
ZERO = ct.PaddingMode.ZERO
# A block computes TM x TN elements of a gradient, in steps of TK products.
TM, TN, TK = 64, 32, 32


@ct.kernel
def images_kernel(dy, filters, dx):
    """dx for a stride of one: the convolution of dy with the filters in reverse order.

    Image element h reads at tap r the element h + PADDING - r of dy, which is the tap R - 1 - r of a view with the
    padding R - 1 - PADDING.
    """
    gradients = ct.im2col_view(dy, window=(R, S), padding=(R - 1 - PADDING, S - 1 - PADDING), tile=(TM, TK))
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for r in range(R):
        for s in range(S):
            for k in range(gradients.num_tiles(1)):
                weights = ct.load(filters, (r, s, c, k), (1, 1, TN, TK), padding_mode=ZERO).reshape((TN, TK))
                pixels = ct.load(gradients, (i, k), offset=(R - 1 - r, S - 1 - s))
                total = ct.mma(pixels, weights.transpose(), total)
    ct.store(ct.im2col_view(dx, window=1, tile=(TM, TN)), (i, c), total.astype(dx.dtype))


def phase_padding(stride):
    """The padding that divides dx into phases, each of as many elements as the view of dy has output pixels."""
    return PADDING % stride, PADDING - R + (1 + ct.cdiv(R - 1 - PADDING, stride)) * stride


@ct.kernel
def strided_images_kernel(dy, filters, dx, stride: ct.Constant[int]):
    """dx for any stride and a square window, and so a transposed convolution of dy; block (i, c, z) has phase z.

    Element h = t * stride + a - PADDING depends on the taps r = a, a + stride, .. only, and reads the element
    t - r // stride of dy: each phase a is a convolution with a stride of one, whose tiles are stored `stride` apart.
    """
    taps = ct.cdiv(R, stride)
    padding = (taps - 1 - PADDING // stride, ct.cdiv(R - 1 - PADDING, stride))
    gradients = ct.im2col_view(dy, window=taps, padding=(padding, padding), tile=(TM, TK))
    phases = ct.im2col_view(dx, window=stride, stride=stride, padding=(phase_padding(stride),) * 2, tile=(TM, TN))
    i, c = ct.bid(0), ct.bid(1)
    a, b = ct.bid(2) // stride, ct.bid(2) % stride
    total = ct.zeros((TM, TN), ct.float32)
    for r in range(a, R, stride):
        for s in range(b, S, stride):
            for k in range(gradients.num_tiles(1)):
                weights = ct.load(filters, (r, s, c, k), (1, 1, TN, TK), padding_mode=ZERO).reshape((TN, TK))
                pixels = ct.load(gradients, (i, k), offset=(taps - 1 - r // stride, taps - 1 - s // stride))
                total = ct.mma(pixels, weights.transpose(), total)
    ct.store(phases, (i, c), total.astype(dx.dtype), offset=(a, b))


@ct.kernel
def filters_kernel(x, dy, df, stride: ct.Constant[int], parts: ct.Constant[int]):
    """df: for each tap, the product of the pixels it reads, transposed, and dy.

    Block (c, k, z) sums every `parts`-th tile of pixels for one tap and adds the sum to df in float32.
    """
    images = ct.im2col_view(x, window=(R, S), stride=stride, padding=PADDING, tile=(TK, TM))
    gradients = ct.im2col_view(dy, window=1, tile=(TK, TN))
    c, k, tap, part = ct.bid(0), ct.bid(1), ct.bid(2) // parts, ct.bid(2) % parts
    total = ct.zeros((TM, TN), ct.float32)
    for i in range(part, images.num_tiles(0), parts):
        pixels = ct.load(images, (i, c), offset=(tap // S, tap % S))
        total = ct.mma(pixels.transpose(), ct.load(gradients, (i, k)), total)
    df.tiled_view((1, 1, TM, TN)).atomic_store_add((tap // S, tap % S, c, k), total.reshape((1, 1, TM, TN)))


def exact_gradients(x: np.ndarray, filters: np.ndarray, dy: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of x and of the filters in float64."""
    widths = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
    padded, df = np.pad(x.astype(np.float64), widths), np.zeros(filters.shape)
    dx, dy = np.zeros(padded.shape), dy.astype(np.float64)
    # Output pixel (p, q) reads row p * stride + r and column q * stride + s of the padded images.
    rows, columns = (stride * (extent - 1) + 1 for extent in dy.shape[1:3])
    for r, s in np.ndindex(R, S):
        read = (slice(None), slice(r, r + rows, stride), slice(s, s + columns, stride))
        dx[read] += dy @ filters[r, s].astype(np.float64).T
        df[r, s] = np.einsum("npqc,npqk->ck", padded[read], dy)
    return dx[:, PADDING:-PADDING, PADDING:-PADDING], df


def report(name: str, found: np.ndarray, exact: np.ndarray) -> bool:
    passed = np.array_equal(found, exact)
    print(f"{name}: {found.shape}, equal to the exact gradient:", "PASSED" if passed else "FAILED")
    return passed


def run(stride: int) -> bool:
    """Launches the kernels on small integers, whose sums are exact in float32."""
    random = np.random.default_rng(0)
    # No extent is a multiple of its tile.
    x, filters = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((2, 9, 11, 40), (R, S, 40, 72)))
    P, Q = ct.im2col_output_shape(x.shape[1:3], window=(R, S), stride=stride, padding=PADDING)
    dy = random.integers(-3, 4, (2, P, Q, 72)).astype(np.float16)
    dx, df = np.zeros(x.shape, np.float32), np.zeros(filters.shape, np.float32)
    exact_dx, exact_df = exact_gradients(x, filters, dy, stride)
    if stride == 1:
        ct.launch(None, (ct.cdiv(x[..., 0].size, TM), ct.cdiv(40, TN)), images_kernel, (dy, filters, dx))
        passed = report("images, stride 1", dx, exact_dx)
    else:
        padding = (phase_padding(stride),) * 2
        rows, columns = ct.im2col_output_shape(x.shape[1:3], window=stride, stride=stride, padding=padding)
        grid = (ct.cdiv(2 * rows * columns, TM), ct.cdiv(40, TN), stride * stride)
        ct.launch(None, grid, strided_images_kernel, (dy, filters, dx, stride))
        passed = report(f"images, stride {stride}", dx, exact_dx)
    parts = 2
    ct.launch(None, (ct.cdiv(40, TM), ct.cdiv(72, TN), R * S * parts), filters_kernel, (x, dy, df, stride, parts))
    return report(f"filters, stride {stride}", df, exact_df) and passed


def main() -> int:
    passed = [run(1), run(2)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
