"""A mixture of experts: tokens are gathered by expert, multiplied by the weights of the expert and scattered."""

import cuda.tile as ct
from cutile.matmul import banded

Extent = ct.Constant[int]
Flag = ct.Constant[bool]


@ct.kernel
def expert_matmul(X, W, Y, shares, order, owners, replicas: int, weighted: Flag, tm: Extent, tn: Extent, tk: Extent):
    """Y[t] = X[t // replicas] @ W[expert of t].T, multiplied by shares[t] if `weighted`.

    `order` lists tokens by expert in whole tiles; numbers after the last token pad a tile and are ignored.
    """
    tiles, depth = ct.cdiv(order.shape[0], tm), W.shape[2]
    row, column = banded(ct.bid(0), tiles, ct.cdiv(W.shape[1], tn))
    tokens = ct.gather(order, row * tm + ct.arange(tm, dtype=ct.int32))
    expert = ct.load(owners, index=row, shape=())
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.cdiv(depth, tk)):
        along = k * tk + ct.arange(tk, dtype=ct.int32)
        x = ct.gather(X, ((tokens // replicas)[:, None], along[None, :]))
        w = ct.load(W, index=(expert, k, column), shape=(1, tk, tn), order=(0, 2, 1), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, ct.reshape(w, (tk, tn)), total)
    if weighted:
        total = total * ct.gather(shares, tokens)[:, None]
    columns = column * tn + ct.arange(tn, dtype=ct.int32)
    ct.scatter(Y, (tokens[:, None], columns[None, :]), total.astype(Y.dtype))


@ct.kernel
def gate(X, Z, Y, size: Extent):
    """Y = X * sigmoid(X) * Z."""
    row = ct.bid(0)
    x = ct.load(X, index=(row, 0), shape=(1, size)).astype(ct.float32)
    z = ct.load(Z, index=(row, 0), shape=(1, size)).astype(ct.float32)
    denominator = ct.add(1.0, ct.exp(-x), flush_to_zero=True)
    share = ct.truediv(1.0, denominator, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(Y, index=(row, 0), tile=(x * share * z).astype(Y.dtype))
