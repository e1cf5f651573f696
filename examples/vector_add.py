"""c = a + b, one block per tile of 1024 elements; the last tile extends beyond the arrays.

python examples/vector_add.py
"""

import sys

import numpy as np

import tilec as ct

TILE = 1024


@ct.kernel
def vector_add(a, b, c, tile_size: ct.Constant[int]):
    index = (ct.bid(0),)
    ct.store(c, index, ct.load(a, index, (tile_size,)) + ct.load(b, index, (tile_size,)))


def main() -> int:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 10_000), np.float32)
    c = np.zeros_like(a)
    ct.launch(None, (ct.cdiv(a.size, TILE), 1, 1), vector_add, (a, b, c, TILE))
    # Both sides are one addition in float32, so the results are equal in every bit.
    passed = np.array_equal(c, a + b)
    print(f"c = a + b of {a.size} elements: {'PASSED, equal in every bit' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
