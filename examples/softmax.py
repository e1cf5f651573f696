"""y = softmax of each row of x: one block per row, one tile per block.

python examples/softmax.py
"""

import math
import sys

import numpy as np

import tilec as ct


@ct.kernel
def softmax_kernel(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    # Elements outside of the row are -inf, which do not change the maximum and the sum.
    tile = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    largest = ct.max(tile, axis=1, keepdims=True)
    numerator = ct.exp(tile - largest)
    ct.store(y, index=(row, 0), tile=numerator / ct.sum(numerator, axis=1, keepdims=True))


def main() -> int:
    random = np.random.default_rng(0)
    x = (4 * random.standard_normal((128, 200))).astype(np.float32)
    y = np.zeros_like(x)
    ct.launch(None, (x.shape[0], 1, 1), softmax_kernel, (x, y, 256))
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    # The rounding of the difference (2^-24 |x|, which exp converts to a relative error), 2 units in the last place for
    # exp (CUDA programming guide, single-precision functions), log2(256) roundings of the sum, and the quotient.
    spread = float(np.abs(x - x.max(axis=1, keepdims=True)).max())
    tolerance = 2.0**-24 * (2 * spread + 2 * 4 + math.log2(256) + 1)
    error = float(np.max(np.abs(y - exact) / exact))
    passed = error <= tolerance
    print(f"softmax of {x.shape[0]} rows: largest relative error {error:.2e}, tolerance {tolerance:.2e}", end=": ")
    print("PASSED" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
