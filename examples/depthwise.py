"""Convolutions with one filter per channel: of images, and of sequences as state-space models use them.

python examples/depthwise.py
"""

import sys

import numpy as np

import tilec as ct

ZERO = ct.PaddingMode.ZERO
# A block computes TM output pixels x TC channels.
TM, TC = 32, 32


@ct.kernel
def images_kernel(x, filters, y, R: ct.Constant[int], S: ct.Constant[int], padding: ct.Constant[int]):
    """y [N, P, Q, C] from x [N, H, W, C] and filters [R, S, C], summed in float32."""
    images = ct.im2col_view(x, window=(R, S), padding=padding, tile=(TM, TC))
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TC), ct.float32)
    for r in range(R):
        for s in range(S):
            weights = ct.load(filters, (r, s, c), (1, 1, TC), padding_mode=ZERO).reshape((1, TC))
            total = total + ct.load(images, (i, c), offset=(r, s)).astype(ct.float32) * weights.astype(ct.float32)
    ct.store(ct.im2col_view(y, window=1, tile=(TM, TC)), (i, c), total.astype(y.dtype))


@ct.kernel
def causal_kernel(x, filters, bias, y, S: ct.Constant[int]):
    """y [N, L, C] from x [N, L, C], filters [S, C] and bias [C]: SiLU of a sum of the last S elements up to each."""
    sequences = ct.im2col_view(x, window=S, padding=((S - 1, 0),), tile=(TM, TC))
    i, c = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TC), ct.float32) + ct.load(bias, c, TC, padding_mode=ZERO)
    for s in range(S):
        weights = ct.load(filters, (s, c), (1, TC), padding_mode=ZERO)
        total = total + ct.load(sequences, (i, c), offset=s).astype(ct.float32) * weights.astype(ct.float32)
    ct.store(ct.im2col_view(y, window=1, tile=(TM, TC)), (i, c), (total / (1.0 + ct.exp(-total))).astype(y.dtype))


def report(kernel, y: np.ndarray, exact: np.ndarray, tolerance: np.ndarray | float) -> bool:
    passed = bool(np.all(abs(y - exact) <= tolerance))
    print(f"{kernel.name}: y {y.shape}:", "PASSED" if passed else "FAILED")
    return passed


def integers(*shape: int) -> np.ndarray:
    """Small integers, whose sums are exact in float32."""
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(np.float16)


def images() -> bool:
    R, S, padding = 5, 3, 1
    x, filters = integers(2, 13, 14, 40), integers(R, S, 40)
    P, Q = ct.im2col_output_shape(x.shape[1:3], window=(R, S), padding=padding)
    y, padded = np.zeros((2, P, Q, 40), np.float32), np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    ct.launch(None, (ct.cdiv(2 * P * Q, TM), ct.cdiv(40, TC)), images_kernel, (x, filters, y, R, S, padding))
    exact = sum(padded[:, r : r + P, s : s + Q] * filters[r, s].astype(np.float64) for r, s in np.ndindex(R, S))
    return report(images_kernel, y, exact, 0.0)


def sequences() -> bool:
    S, L = 4, 37
    x, filters, bias = integers(3, L, 40), integers(S, 40), integers(40).astype(np.float32)
    y, padded = np.zeros((3, L, 40), np.float32), np.pad(x, ((0, 0), (S - 1, 0), (0, 0)))
    ct.launch(None, (ct.cdiv(3 * L, TM), ct.cdiv(40, TC)), causal_kernel, (x, filters, bias, y, S))
    total = bias + sum(padded[:, s : s + L] * filters[s].astype(np.float64) for s in range(S))
    exact = total / (1 + np.exp(-total))
    # Two units in the last place of exp and one rounding of its argument (CUDA programming guide, single-precision
    # functions), of the sum and of the quotient; the results near zero have the exponent of the smallest float32.
    return report(causal_kernel, y, exact, 2.0**-24 * (6 + abs(total)) * abs(exact) + 2.0**-126)


def main() -> int:
    passed = [images(), sequences()]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
