"""Layer norm and its gradients; the gradients of weight and bias are first summed in several rows, each with a lock."""

import cuda.tile as ct

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO


def inside(j, size, columns):
    return j * size + ct.arange(size, dtype=ct.int32) < columns


@ct.kernel
def layer_norm(X, W, B, Y, Mean, Scale, eps, size: Extent):
    """Y = (X - Mean) * Scale * W + B by rows, where Scale = 1 / sqrt(variance + eps)."""
    row, columns = ct.bid(0), X.shape[1]
    tiles = ct.cdiv(columns, size)
    total = ct.zeros((1, size), dtype=ct.float32)
    for j in range(tiles):
        total += ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO)
    mean = ct.sum(total, axis=1) / columns
    ct.store(Mean, index=(row,), tile=mean)
    total = ct.zeros((1, size), dtype=ct.float32)
    for j in range(tiles):
        x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO)
        deviation = ct.where(inside(j, size, columns), x - mean, 0)
        total += deviation * deviation
    scale = ct.rsqrt(ct.sum(total, axis=1) / columns + eps)
    ct.store(Scale, index=(row,), tile=scale)
    for j in range(tiles):
        x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO)
        w = ct.load(W, index=(j,), shape=(size,), padding_mode=ZERO)
        b = ct.load(B, index=(j,), shape=(size,), padding_mode=ZERO)
        ct.store(Y, index=(row, j), tile=((x - mean) * scale * w + b).astype(Y.dtype))


def normal_and_weighted(X, W, DY, row, j, mean, scale, size):
    x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO)
    dy = ct.load(DY, index=(row, j), shape=(1, size), padding_mode=ZERO).astype(ct.float32)
    w = ct.load(W, index=(j,), shape=(size,), padding_mode=ZERO)
    normal = ct.where(inside(j, size, X.shape[1]), (x - mean) * scale, 0)
    return dy, normal, dy * w


@ct.kernel
def layer_norm_gradient(DX, DY, DW, DB, X, W, Mean, Scale, Locks, size: Extent):
    """The gradient of X; each row of X is added to a row of DW and DB under the lock of that row."""
    row, columns = ct.bid(0), X.shape[1]
    tiles, slot = ct.cdiv(columns, size), row % DW.shape[0]
    mean, scale = ct.load(Mean, index=(row,), shape=(1,)), ct.load(Scale, index=(row,), shape=(1,))
    along, average = ct.zeros((1, size), dtype=ct.float32), ct.zeros((1, size), dtype=ct.float32)
    for j in range(tiles):
        _, normal, weighted = normal_and_weighted(X, W, DY, row, j, mean, scale, size)
        along, average = along + normal * weighted, average + weighted
    along, average = ct.sum(along, axis=1) / columns, ct.sum(average, axis=1) / columns
    for j in range(tiles):
        dy, normal, weighted = normal_and_weighted(X, W, DY, row, j, mean, scale, size)
        ct.store(DX, index=(row, j), tile=((weighted - normal * along - average) * scale).astype(DX.dtype))
        while ct.atomic_cas(Locks, slot, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) != 0:
            pass
        dw = ct.load(DW, index=(slot, j), shape=(1, size), padding_mode=ZERO)
        db = ct.load(DB, index=(slot, j), shape=(1, size), padding_mode=ZERO)
        ct.store(DW, index=(slot, j), tile=dw + dy * normal)
        ct.store(DB, index=(slot, j), tile=db + dy)
        ct.atomic_xchg(Locks, slot, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def layer_norm_weights(DW, DB, W, B, rows: Extent, size: Extent):
    """The sums of DW and DB over their rows."""
    block = ct.bid(0)
    for_weight, for_bias = ct.zeros((rows, size), dtype=ct.float32), ct.zeros((rows, size), dtype=ct.float32)
    for i in range(ct.num_tiles(DW, axis=0, shape=(rows, size))):
        for_weight += ct.load(DW, index=(i, block), shape=(rows, size), padding_mode=ZERO)
        for_bias += ct.load(DB, index=(i, block), shape=(rows, size), padding_mode=ZERO)
    ct.store(W, index=(block,), tile=ct.sum(for_weight, axis=0).astype(W.dtype))
    ct.store(B, index=(block,), tile=ct.sum(for_bias, axis=0).astype(B.dtype))
