"""Kernels whose matrix operands and accumulators are in use one after the other."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.function
def product(A, B, first, last, rows: Const, columns: Const, depth: Const):
    """A @ B over the steps [first, last) of `depth` along K."""
    total = ct.full((rows, columns), 0, dtype=ct.float32)
    for k in range(first, last):
        a = ct.load(A, index=(0, k), shape=(rows, depth), padding_mode=ZERO)
        b = ct.load(B, index=(k, 0), shape=(depth, columns), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    return total


@ct.kernel
def products_in_sequence(A, B, C, bounds: tuple, rows: Const, columns: Const, depth: Const):
    """C[i] = A @ B over the steps [bounds[i], bounds[i + 1]) of K: loops of other lengths, which may not run."""
    for i in ct.static_iter(range(len(bounds) - 1)):
        total = product(A, B, bounds[i], bounds[i + 1], rows, columns, depth)
        ct.store(C, index=(i, 0), tile=total.astype(C.dtype))


@ct.kernel
def unlike_products(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Two products whose tiles have other sizes: the slots of the second are a part of those of the first."""
    ct.store(C, index=(0, 0), tile=product(A, B, 0, steps, rows, columns, depth))
    ct.store(C, index=(2, 0), tile=product(A, B, 0, 2 * steps, rows // 2, columns // 2, depth // 2))


@ct.kernel
def nested_products(A, B, C, tiles: int, steps: int, rows: Const, columns: Const, depth: Const):
    """In each iteration of an outer loop one of two products, and then a third."""
    for i in range(tiles):
        if i % 2 == 0:
            total = product(A, B, 0, steps, rows, columns, depth)
        else:
            total = product(A, B, steps, 2 * steps, rows, columns, depth)
        ct.store(C, index=(2 * i, 0), tile=total)
        ct.store(C, index=(2 * i + 1, 0), tile=product(A, B, i, steps, rows, columns, depth))


@ct.kernel
def chain(X, W, Y, count: Const, size: Const):
    """Y = X @ W[0] @ W[1] .. without a loop: each product is rounded and is the left operand of the next."""
    x = ct.load(X, index=(0, 0), shape=(size, size))
    for i in ct.static_iter(range(count)):
        w = ct.load(W, index=(i, 0), shape=(size, size))
        x = ct.mma(x, w, ct.full((size, size), 0, dtype=ct.float32)).astype(X.dtype)
    ct.store(Y, index=(0, 0), tile=x)


@ct.kernel
def three_layers(X, first, second, third, Y, rows: Const, depth: Const, width: Const):
    """Y = X @ first @ second @ third: the tiles of the weights, of the layers and of the result do not fit together."""
    x = ct.load(X, index=(0, 0), shape=(rows, depth))
    w = ct.load(first, index=(0, 0), shape=(depth, width))
    h = ct.mma(x, w, ct.full((rows, width), 0, dtype=ct.float32)).astype(X.dtype)
    w = ct.load(second, index=(0, 0), shape=(width, width))
    h = ct.mma(h, w, ct.full((rows, width), 0, dtype=ct.float32)).astype(X.dtype)
    w = ct.load(third, index=(0, 0), shape=(width, rows))
    ct.store(Y, index=(0, 0), tile=ct.mma(h, w, ct.full((rows, rows), 0, dtype=ct.float32)))


@ct.kernel
def attention_in_two_loops(Q, K, V, O, split: int, scale: ct.Constant[float], tm: Const, tn: Const, width: Const):  # noqa: E741
    """Softmax(Q @ K.T * scale) @ V: the blocks of keys before `split`, then the others, as in causal attention."""
    q = ct.load(Q, index=(ct.bid(0), 0), shape=(tm, width), padding_mode=ZERO)
    largest = ct.full((tm, 1), -1e30, dtype=ct.float32)
    total = ct.full((tm, 1), 0, dtype=ct.float32)
    acc = ct.full((tm, width), 0, dtype=ct.float32)
    for j in range(split):
        largest, total, acc = attend(K, V, j, q, largest, total, acc, scale, tm, tn, width)
    for j in range(split, ct.num_tiles(K, axis=0, shape=(tn, width))):
        largest, total, acc = attend(K, V, j, q, largest, total, acc, scale, tm, tn, width)
    ct.store(O, index=(ct.bid(0), 0), tile=(acc / total).astype(O.dtype))


@ct.function
def attend(K, V, j, q, largest, total, acc, scale, tm: Const, tn: Const, width: Const):
    """Adds block j of keys to the running maximum, sum and accumulator."""
    k = ct.load(K, index=(j, 0), shape=(tn, width), padding_mode=ZERO)
    s = ct.mma(q, ct.transpose(k), ct.full((tm, tn), 0, dtype=ct.float32)) * scale
    new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
    p = ct.exp(s - new_largest)
    factor = ct.exp(largest - new_largest)
    v = ct.load(V, index=(j, 0), shape=(tn, width), padding_mode=ZERO)
    acc = ct.mma(p.astype(q.dtype), v, acc * factor)
    return new_largest, total * factor + ct.sum(p, axis=1, keepdims=True), acc


@ct.kernel
def row_of_product(A, B, C, steps: int, row: int, rows: Const, columns: Const, depth: Const):
    """A row of A @ B, which is known at run time only: the whole product goes through scratch memory."""
    total = product(A, B, 0, steps, rows, columns, depth)
    ct.store(C, index=(0, 0), tile=ct.extract(total, (row, 0), (1, columns)))


@ct.kernel
def sums_in_use_together(A, B, C, steps: int, rows: Const, narrow: Const, wide: Const, depth: Const):
    """In each step a wide product, then three narrow ones, of which none is stored before all are computed."""
    for i in range(steps):
        a = ct.load(A, index=(0, i), shape=(rows, depth))
        total = ct.full((rows, wide), 2, dtype=ct.float32)
        total = ct.mma(a, ct.load(B, index=(i, 0), shape=(depth, wide)), total)
        ct.store(C, index=(2 * i, 0), tile=total)
        first = ct.full((rows, narrow), 3, dtype=ct.float32)
        first = ct.mma(a, ct.load(B, index=(0, 0), shape=(depth, narrow)), first)
        second = ct.full((rows, narrow), 4, dtype=ct.float32)
        second = ct.mma(a, ct.load(B, index=(0, 1), shape=(depth, narrow)), second)
        third = ct.full((rows, narrow), 5, dtype=ct.float32)
        third = ct.mma(a, ct.load(B, index=(0, 2), shape=(depth, narrow)), third)
        ct.store(C, index=(2 * i + 1, 0), tile=first)
        ct.store(C, index=(2 * i + 1, 1), tile=second)
        ct.store(C, index=(2 * i + 1, 2), tile=third)


@ct.function
def add_block(A, B, k, total, rows: Const, columns: Const, depth: Const):
    """total + A @ B over block k of K."""
    a = ct.load(A, index=(0, k), shape=(rows, depth))
    return ct.mma(a, ct.load(B, index=(k, 0), shape=(depth, columns)), total)


@ct.kernel
def sums_stored_at_the_end(A, B, C, steps: int, rows: Const, narrow: Const, wide: Const, depth: Const):
    """In each step a narrow product and three wide ones, the last of several blocks of K; then all are stored."""
    for i in range(steps):
        small = add_block(A, B, 0, ct.zeros((rows, narrow), ct.float32), rows, narrow, depth)
        first = add_block(A, B, 1, ct.zeros((rows, wide), ct.float32), rows, wide, depth)
        second = add_block(A, B, 1, ct.full((rows, wide), 4, dtype=ct.float32), rows, wide, depth)
        third = ct.full((rows, wide), 5, dtype=ct.float32)
        for k in range(i, 2):
            third = add_block(A, B, k, third, rows, wide, depth)
        ct.store(C, index=(4 * i, 0), tile=small)
        ct.store(C, index=(4 * i + 1, 0), tile=first)
        ct.store(C, index=(4 * i + 2, 0), tile=third)
        ct.store(C, index=(4 * i + 3, 0), tile=second)


@ct.kernel
def products_of_threads(A, B, C, rows: Const, columns: Const, depth: Const):
    """3 (A @ B) + A**2 @ B: threads compute all operands before the first product."""
    a, b = ct.abs(ct.load(A, (0, 0), (rows, depth))), ct.abs(ct.load(B, (0, 0), (depth, columns)))
    squares = a * a
    total = ct.zeros((rows, columns), C.dtype)
    for _ in ct.static_iter(range(3)):
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), ct.mma(squares, b, total))
