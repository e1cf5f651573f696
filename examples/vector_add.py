"""c = a + b, one block for each piece of 1024 elements; the last one is not full.

python examples/vector_add.py
"""

import sys

import numpy as np

import tilec as ct

TILE = 1024


@ct.kernel
def vector_add(a, b, c, tile_size: ct.Constant[int]):
    piece = (ct.bid(0),)
    ct.store(c, piece, ct.load(a, piece, (tile_size,)) + ct.load(b, piece, (tile_size,)))


def main() -> int:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 10_000), np.float32)
    c = np.zeros_like(a)
    ct.launch(None, (ct.cdiv(a.size, TILE), 1, 1), vector_add, (a, b, c, TILE))
    # One addition in float32 on both sides: not a bit may differ.
    right = np.array_equal(c, a + b)
    print(f"c = a + b of {a.size} elements: {'right, bit for bit' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
