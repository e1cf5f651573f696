"""Kernels that the command line tests compile."""

import tilec as ct


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    index = ct.bid(0)
    ct.store(
        c, index=(index,), tile=ct.load(a, index=(index,), shape=(tile,)) + ct.load(b, index=(index,), shape=(tile,))
    )


@ct.kernel
def mistyped(a):
    ct.store(a, index=(0,), tile=ct.load(a, index=(0,), shape=(3,)))
