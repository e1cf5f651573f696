"""Sums of vectors and matrices, with tile loads and with gathers."""

import cuda.tile as ct

Extent = ct.Constant[int]


@ct.kernel
def add(a, b, c, size: Extent):
    block = ct.bid(0)
    total = ct.load(a, index=(block,), shape=(size,)) + ct.load(b, index=(block,), shape=(size,))
    ct.store(c, index=(block,), tile=total)


@ct.kernel
def add_matrices(a, b, c, rows: Extent, columns: Extent):
    block = (ct.bid(0), ct.bid(1))
    total = ct.load(a, index=block, shape=(rows, columns)) + ct.load(b, index=block, shape=(rows, columns))
    ct.store(c, index=block, tile=total)


@ct.kernel
def add_gathered(a, b, c, size: Extent):
    positions = ct.bid(0) * size + ct.arange(size, dtype=ct.int32)
    ct.scatter(c, positions, ct.gather(a, positions) + ct.gather(b, positions))


@ct.kernel
def add_matrices_gathered(a, b, c, rows: Extent, columns: Extent):
    row = ct.bid(0) * rows + ct.arange(rows, dtype=ct.int32)
    column = ct.bid(1) * columns + ct.arange(columns, dtype=ct.int32)
    positions = (row[:, None], column[None, :])
    ct.scatter(c, positions, ct.gather(a, positions) + ct.gather(b, positions))
