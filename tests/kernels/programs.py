"""Kernels that cover every strategy of the lowering; test_programs.py compares most with numpy, ptxas accepts all."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def strided(X, Y, rows: Const, columns: Const, row_step: Const, column_step: Const):
    """Tiles that leave gaps along rows and overlap along columns, or the other way round."""
    i, j = ct.bid(0), ct.bid(1)
    view = X.tiled_view((rows, columns), padding_mode=ZERO, traversal_steps=(row_step, column_step))
    ct.store(Y, index=(i, j), tile=view.load((i, j)) + 1)


@ct.kernel
def softmax(X, Y, rows: Const, columns: Const):
    """The softmax of each row; one tile contains whole rows."""
    x = ct.load(X, index=(ct.bid(0), 0), shape=(rows, columns), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    e = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, index=(ct.bid(0), 0), tile=(e / ct.sum(e, axis=1, keepdims=True)).astype(Y.dtype))


@ct.kernel
def sums(X, R, C, rows: Const, columns: Const):
    """Sums over either axis."""
    x = ct.load(X, index=(0, 0), shape=(rows, columns), padding_mode=ZERO)
    ct.store(R, index=(0,), tile=ct.sum(x, axis=1))
    ct.store(C, index=(0,), tile=ct.sum(x, axis=0))


@ct.kernel
def attention(Q, K, V, O, scale: ct.Constant[float], tm: Const, tn: Const, width: Const):  # noqa: E741
    """Softmax(Q @ K.T * scale) @ V with a running maximum and sum: two multiplies chained in a loop."""
    i = ct.bid(0)
    q = ct.load(Q, index=(i, 0), shape=(tm, width), padding_mode=ZERO)
    largest = ct.full((tm, 1), -1e30, dtype=ct.float32)
    total = ct.full((tm, 1), 0, dtype=ct.float32)
    acc = ct.full((tm, width), 0, dtype=ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(tn, width))):
        k = ct.load(K, index=(j, 0), shape=(tn, width), padding_mode=ZERO)
        v = ct.load(V, index=(j, 0), shape=(tn, width), padding_mode=ZERO)
        s = ct.mma(q, ct.transpose(k), ct.full((tm, tn), 0, dtype=ct.float32)) * scale
        new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - new_largest)
        factor = ct.exp(largest - new_largest)
        total = total * factor + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(Q.dtype), v, acc * factor)
        largest = new_largest
    ct.store(O, index=(i, 0), tile=(acc / total).astype(O.dtype))


@ct.kernel
def in_place(X, rows: Const, columns: Const):
    """Each block transposes its tile in place, then adds its first half of the rows to the second half."""
    x = ct.load(X, index=(ct.bid(0), 0), shape=(rows, columns))
    ct.store(X, index=(ct.bid(0), 0), tile=ct.transpose(x))
    view = X.tiled_view((rows // 2, columns))
    first = view.load((2 * ct.bid(0), 0))
    view.store((2 * ct.bid(0) + 1, 0), view.load((2 * ct.bid(0) + 1, 0)) + first)


@ct.kernel
def running_sum(X, Y, rows: Const, columns: Const):
    """Every iteration stores the same tile, so the last store determines the result."""
    acc = ct.full((rows, columns), 0, dtype=ct.float32)
    for i in range(ct.num_tiles(X, axis=0, shape=(rows, columns))):
        acc = acc + ct.load(X, index=(i, 0), shape=(rows, columns))
        ct.store(Y, index=(0, 0), tile=acc)


@ct.kernel
def early_exits(X, Y, size: Const, limit: Const):
    """Sums tiles except every third until the total exceeds a limit; only block 0 does so, all others return."""
    if ct.bid(0) > 0:
        return
    total = ct.full((size,), 0, dtype=ct.int32)
    i = 0
    while True:
        if i == ct.num_tiles(X, axis=0, shape=(size,)):
            break
        i += 1
        if i % 3 == 0:
            continue
        total = total + ct.load(X, index=(i - 1,), shape=(size,))
        if ct.sum(total) > limit:
            break
    ct.store(Y, index=(0,), tile=total)


@ct.kernel
def exchanged_parts(X, I, Z, rows: Const, columns: Const, part_rows: Const, part_columns: Const):  # noqa: E741
    """Swaps two sub-tiles of X, at indices that a loop reads from I."""
    x = ct.load(X, index=(0, 0), shape=(rows, columns))
    for k in range(I.shape[0]):
        at = ct.load(I, index=(k, 0), shape=(1, 4))
        r = ct.extract(at, (0, 0), shape=(1, 1)).item()
        c = ct.extract(at, (0, 1), shape=(1, 1)).item()
        to_r = ct.extract(at, (0, 2), shape=(1, 1)).item()
        to_c = ct.extract(at, (0, 3), shape=(1, 1)).item()
        first = ct.extract(x, (r, c), shape=(part_rows, part_columns))
        second = ct.extract(x, (to_r, to_c), shape=(part_rows, part_columns))
        x = ct.insert(ct.insert(x, (r, c), second), (to_r, to_c), first)
    ct.store(Z, index=(0, 0), tile=x)


@ct.kernel
def layer_norm(X, W, B, Y, eps: ct.Constant[float], size: Const):
    """Subtracts the mean of each row, divides by its standard deviation, multiplies by W and adds B."""
    row, width = ct.bid(0), X.shape[1]
    x = ct.load(X, index=(row, 0), shape=(1, size), padding_mode=ZERO)
    mean = ct.sum(x, axis=1, keepdims=True) / width
    inside = ct.arange(size, dtype=ct.int32).reshape((1, size)) < width
    centred = ct.where(inside, x - mean, 0.0)
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / width
    weight = ct.load(W, index=(0,), shape=(size,), padding_mode=ZERO).reshape((1, size))
    bias = ct.load(B, index=(0,), shape=(size,), padding_mode=ZERO).reshape((1, size))
    ct.store(Y, index=(row, 0), tile=centred * ct.rsqrt(variance + eps) * weight + bias)


@ct.kernel
def quantized(X, Q, S, rows: Const, blocks: Const):
    """MXFP4: Q has the bytes of pairs of elements in a row, S the least scale that keeps a block of 32 within 6."""
    x = ct.load(X, index=(ct.bid(0), ct.bid(1)), shape=(rows, blocks * 32)).astype(ct.float32)
    grouped = ct.reshape(x, (rows, blocks, 32))
    largest = ct.max(ct.maximum(grouped, -grouped), axis=2, keepdims=True)
    scale = ct.astype(largest / 6.0, ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RP)
    elements = ct.astype(grouped / ct.astype(scale, ct.float32), ct.float4_e2m1fn)
    ct.store(S, index=(ct.bid(0), ct.bid(1)), tile=ct.reshape(scale, (rows, blocks)))
    packed = ct.pack_to_bytes(ct.reshape(elements, (rows * blocks * 32,)))
    ct.store(Q, index=(ct.bid(0), ct.bid(1)), tile=ct.reshape(packed, (rows, blocks * 16)))


@ct.kernel
def dequantized(Q, S, X, rows: Const, blocks: Const):
    packed = ct.load(Q, index=(ct.bid(0), ct.bid(1)), shape=(rows, blocks * 16))
    elements = ct.unpack_from_bytes(ct.reshape(packed, (rows * blocks * 16,)), ct.float4_e2m1fn)
    scale = ct.load(S, index=(ct.bid(0), ct.bid(1)), shape=(rows, blocks))
    grouped = ct.reshape(ct.astype(elements, ct.float32), (rows, blocks, 32))
    values = grouped * ct.reshape(ct.astype(scale, ct.float32), (rows, blocks, 1))
    ct.store(X, index=(ct.bid(0), ct.bid(1)), tile=ct.reshape(values, (rows, blocks * 32)).astype(X.dtype))


@ct.kernel
def printed_sums(X, rows: Const, columns: Const):
    """Prints the tile of each block, then a line per iteration with the sums of its columns and their total."""
    block = ct.bid(0)
    tile = ct.load(X, index=(block, 0), shape=(rows, columns))
    print("block", block, f"holds {tile:.2f}", sep=": ")
    for i in range(2):
        sums = ct.sum(tile * (i + 1), axis=0)
        ct.printf("%d * sums = %g, total %8.3f, largest is positive: %d\n", i + 1, sums, ct.sum(sums), ct.max(sums) > 0)


@ct.kernel
def asserted_halves(X, Y, size: Const):
    """Divides even numbers by two; an odd one, or a negative sum of a block, is an error."""
    x = ct.load(X, index=(ct.bid(0),), shape=(size,))
    ct.assert_(x % 2 == 0, "an odd number")
    ct.assert_(ct.sum(x) >= 0)
    ct.store(Y, index=(ct.bid(0),), tile=x // 2)
