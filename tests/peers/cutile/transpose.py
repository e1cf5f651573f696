"""The transpose of a matrix."""

import cuda.tile as ct

Extent = ct.Constant[int]


@ct.kernel
def transpose(x, y, rows: Extent, columns: Extent):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(rows, columns))))
