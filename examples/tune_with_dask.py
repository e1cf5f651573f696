"""Tunes a matrix multiplication; the candidates compile on the workers of a Dask cluster.

    pip install 'tilec[dask]'
    python examples/tune_with_dask.py [ADDRESS]

Without the address of a scheduler, the program starts a cluster of two processes on this machine. Any other executor of
`concurrent.futures` can take its place.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
from distributed import Client

import tilec as ct

M, N, K = 512, 512, 256


@ct.kernel
def matmul(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total)


def main() -> None:
    """Tunes, then checks the best configuration against numpy."""
    random = np.random.default_rng(0)
    A, B = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    space = [{"TM": tm, "TN": tn, "TK": tk} for tm, tn, tk in product((64, 128), (64, 128), (32, 64))]

    def grid(config: dict[str, int]) -> tuple[int, int]:
        return ct.cdiv(M, config["TM"]), ct.cdiv(N, config["TN"])

    def arguments(config: dict[str, int]) -> tuple[object, ...]:
        return A, B, np.zeros((M, N), np.float32), *config.values()

    address = {"address": sys.argv[1]} if len(sys.argv) > 1 else {"n_workers": 2, "threads_per_worker": 1}
    with Client(**address, dashboard_address=None) as client:
        result = ct.tune.exhaustive_search(
            space, None, grid, matmul, arguments, executor=client.get_executor(), prune=4, cache=False
        )
    print(result.plot())
    C = np.zeros((M, N), np.float32)
    ct.launch(None, grid(result.best.config), matmul, (A, B, C, *result.best.config.values()))
    correct = np.array_equal(C, A.astype(np.float32) @ B.astype(np.float32))
    print(f"{'PASSED' if correct else 'FAILED'}: best {result.best.config}")


# The workers are new processes, which import this file.
if __name__ == "__main__":
    main()
