"""Matrix multiplies that cover every strategy of the lowering for operands, accumulators and loops."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(A, B, C, tm: Const, tn: Const, tk: Const):
    """One tile per block; the loop over K carries the accumulator."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def product(A, B, C, tm: Const, tn: Const, tk: Const):
    """Accumulates in the type of C; a grid of two dimensions."""
    acc = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        acc = ct.mma(a, b, acc)
    ct.store(C, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def accumulated_product(A, B, C, tm: Const, tn: Const, tk: Const, fast: ct.Constant[bool]):
    """C = A @ B + C, summed in the type of C; each block computes one tile of C."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.load(C, (row, column), (tm, tn), padding_mode=ZERO)
    for step in range(ct.cdiv(A.shape[1], tk)):
        a = ct.load(A, (row, step), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (step, column), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total, use_fast_acc=fast)
    ct.store(C, (row, column), total)


@ct.kernel
def matmul_tf32(A, B, C, tm: Const, tn: Const, tk: Const):
    """The conversion feeds only mma, so TMA and the tensor core do it by dropping bits."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO).astype(ct.tfloat32)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO).astype(ct.tfloat32)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def matmul_f16_accumulator(A, B, C, tm: Const, tn: Const, tk: Const):
    """Half precision throughout."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float16)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)


@ct.kernel
def two_products(A, B, C, P, Q, tm: Const, tn: Const, tk: Const):
    """Two mma share A: P = A @ B, Q = A @ C."""
    i, j = ct.bid(0), ct.bid(1)
    p = ct.full((tm, tn), 0, dtype=ct.float32)
    q = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        c = ct.load(C, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        p = ct.mma(a, b, p)
        q = ct.mma(a, c, q)
    ct.store(P, index=(i, j), tile=p.astype(P.dtype))
    ct.store(Q, index=(i, j), tile=q.astype(Q.dtype))


@ct.kernel
def product_and_row_sums(A, B, C, R, tm: Const, tn: Const, tk: Const):
    """A is an operand of mma, and its rows are summed before and after the multiply."""
    i = ct.bid(0)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    sums = ct.full((tm,), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        sums = sums + ct.sum(a.astype(ct.float32), axis=1)
        b = ct.load(B, index=(k, 0), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
        sums = sums + ct.sum(a.astype(ct.float32) * 2, axis=1)
    ct.store(C, index=(i, 0), tile=acc.astype(C.dtype))
    ct.store(R, index=(i,), tile=sums)


@ct.kernel
def product_under_if_and_tile(A, B, C, R, wanted, t: Const):
    """A is an operand of an mma under a condition, and is stored."""
    a = ct.load(A, index=(0, 0), shape=(t, t))
    acc = ct.full((t, t), 0, dtype=ct.float32)
    if wanted > 0:
        acc = ct.mma(a, ct.load(B, index=(0, 0), shape=(t, t)), acc)
    ct.store(C, index=(0, 0), tile=acc)
    ct.store(R, index=(0, 0), tile=a)


@ct.kernel
def chained(A, B, C, D, tm: Const, tn: Const, tk: Const):
    """D = cast(A @ B) @ C: a result becomes an operand."""
    i = ct.bid(0)
    p = ct.full((tm, tk), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, 0), shape=(tk, tk), padding_mode=ZERO)
        p = ct.mma(a, b, p)
    c = ct.load(C, index=(0, 0), shape=(tk, tn), padding_mode=ZERO)
    d = ct.mma(p.astype(A.dtype), c, ct.full((tm, tn), 0, dtype=ct.float32))
    ct.store(D, index=(i, 0), tile=d.astype(D.dtype))


@ct.kernel
def single(A, B, C, D, tm: Const, tn: Const, tk: Const):
    """D = A @ B + C without a loop, the accumulator read from memory."""
    i, j = ct.bid(0), ct.bid(1)
    a = ct.load(A, index=(i, 0), shape=(tm, tk), padding_mode=ZERO)
    b = ct.load(B, index=(0, j), shape=(tk, tn), padding_mode=ZERO)
    c = ct.load(C, index=(i, j), shape=(tm, tn), padding_mode=ZERO)
    ct.store(D, index=(i, j), tile=ct.mma(a, b, c))


@ct.kernel
def repeated_product(A, B, C, times, tm: Const, tn: Const, tk: Const):
    """C + times A @ B in place: an accumulator from memory, which nested loops carry."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.load(C, index=(i, j), shape=(tm, tn), padding_mode=ZERO)
    for _ in range(times):
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
            acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)


@ct.kernel
def scaled_operand(A, B, C, tm: Const, tn: Const, tk: Const):
    """An operand is computed before mma: C = (2 A) @ B."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO) * 2
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def rescaled(A, B, C, tm: Const, tn: Const, tk: Const):
    """The accumulator is halved in every iteration, as attention rescales its own."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc * 0.5)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def rescaled_in_two_loops(A, B, C, tm: Const, tn: Const, tk: Const):
    """The sum with each product is halved, and a second loop continues with what a first one leaves."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    count = ct.num_tiles(A, axis=1, shape=(tm, tk))
    for k in range(count // 2):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc) * 0.5
    for k in range(count // 2, count):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc) * 0.5
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def persistent(A, B, C, tm: Const, tn: Const, tk: Const):
    """Each block walks over several tiles."""
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        acc = ct.full((tm, tn), 0, dtype=ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
            acc = ct.mma(a, b, acc)
        ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def under_if(A, B, C, tm: Const, tn: Const, tk: Const):
    """Only every second tile along K is multiplied."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        if k % 2 == 0:
            a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
            acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


@ct.kernel
def stores_under_flags(A, B, C, F, R, tm: Const, tn: Const, tk: Const):
    """Elements of memory determine what is stored, and how often, but not what is loaded and multiplied."""
    for i in range(ct.bid(0), ct.num_tiles(A, axis=0, shape=(tm, tk)), ct.num_blocks(0)):
        acc, chosen = ct.full((tm, tn), 0, dtype=ct.float32), 0
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, 0), shape=(tk, tn), padding_mode=ZERO)
            acc = ct.mma(a, b, acc)
            if ct.load(F, index=(i, k), shape=(1, 1)).item() > 0:
                chosen = chosen + k + 1
        if ct.load(F, index=(i, 0), shape=(1, 1)).item() > 0:
            ct.store(C, index=(i, 0), tile=acc.astype(C.dtype))
        for j in range(chosen):
            ct.store(R, index=(i, j), tile=ct.full((1, 1), j + 1, dtype=ct.int32))


@ct.kernel
def rescaled_under_flags(A, B, C, F, tm: Const, tn: Const, tk: Const):
    """Elements of memory determine whether the accumulator is rescaled after each multiply."""
    i = ct.bid(0)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, 0), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
        if ct.load(F, index=(i, k), shape=(1, 1)).item() > 0:
            acc = acc * 0.5
    ct.store(C, index=(i, 0), tile=acc.astype(C.dtype))


@ct.kernel
def strided_matmul(A, B, C, tm: Const, tn: Const, tk: Const, step: Const):
    """The tiles of A along K start `step` elements apart: gaps or overlap."""
    i, j = ct.bid(0), ct.bid(1)
    view = A.tiled_view((tm, tk), padding_mode=ZERO, traversal_steps=(tm, step))
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(B, axis=0, shape=(tk, tn))):
        a = view.load((i, k))
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))
