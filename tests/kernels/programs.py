"""Kernels that cover every strategy of the lowering; test_programs.py compares most with numpy, ptxas accepts all."""

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
def strided(X, Y, rows: Const, columns: Const, row_step: Const, column_step: Const):
    """Tiles that leave gaps along rows and overlap along columns, or the other way round."""
    i, j = ct.bid(0), ct.bid(1)
    view = X.tiled_view((rows, columns), padding_mode=ZERO, traversal_steps=(row_step, column_step))
    ct.store(Y, index=(i, j), tile=view.load((i, j)) + 1)


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
def gathered(X, I, Y, size: Const):  # noqa: E741
    """Elements selected by index; an index out of bounds yields the padding value."""
    ct.store(Y, index=(ct.bid(0),), tile=ct.gather(X, (ct.load(I, index=(ct.bid(0),), shape=(size,)),)))


@ct.kernel
def embedding(Token, W, Y, tokens: Const, width: Const):
    """Y[i, :] = W[Token[i], :], and zeros for a token that W does not have."""
    i, j = ct.bid(0), ct.bid(1)
    rows = ct.load(Token, index=(i,), shape=(tokens,), padding_mode=ZERO)
    part = ct.load_advanced_indexing(W, (rows, ct.Slice(j * width, width)), padding_mode=ZERO)
    ct.store(Y, index=(i, j), tile=part)


@ct.kernel
def permuted_columns(X, Column, Y, rows: Const, columns: Const):
    """Y[:, Column[j]] = X[:, Column[j]] + j, where X and Y have the column."""
    i, j = ct.bid(0), ct.bid(1)
    chosen = ct.load(Column, index=(j,), shape=(columns,))
    part = ct.load_advanced_indexing(X, (ct.Slice(i * rows, rows), chosen), padding_mode=ZERO)
    number = j * columns + ct.arange(columns, dtype=ct.int32)
    ct.store_advanced_indexing(Y, (ct.Slice(i * rows, rows), chosen), part + number.astype(X.dtype))


@ct.kernel
def experts(X, W, Pair, Expert, Y, choices: Const, tm: Const, tn: Const, tk: Const):
    """Y[p] = X[p // choices] @ W[e] for the pairs p of a token and the expert e of the block; pair -1 is none."""
    i, j = ct.bid(0), ct.bid(1)
    pairs = ct.load(Pair, index=(i,), shape=(tm,))
    expert = ct.load(Expert, index=(i,), shape=())
    tokens = pairs // choices
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
        a = ct.load_advanced_indexing(X, (tokens, ct.Slice(k * tk, tk)), padding_mode=ZERO)
        b = ct.load(W, index=(expert, k, j), shape=(1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(a, b, acc)
    ct.store_advanced_indexing(Y, (pairs, ct.Slice(j * tn, tn)), acc.astype(Y.dtype))


@ct.kernel
def gathered_product(X, Row, W, Y, tm: Const, tn: Const, tk: Const):
    """Y[i] = X[Row[i]] @ W; each block computes several tiles of rows."""
    for i in range(ct.bid(0), ct.num_tiles(Row, axis=0, shape=(tm,)), ct.num_blocks(0)):
        rows = ct.load(Row, index=(i,), shape=(tm,))
        acc = ct.full((tm, tn), 0, dtype=ct.float32)
        for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
            a = ct.load_advanced_indexing(X, (rows, ct.Slice(k * tk, tk)), padding_mode=ZERO)
            acc = ct.mma(a, ct.load(W, index=(k, 0), shape=(tk, tn), padding_mode=ZERO), acc)
        ct.store(Y, index=(i, 0), tile=acc.astype(Y.dtype))


@ct.kernel
def gathered_product_in_tf32(X, Row, W, Y):
    """Y = X[Row] @ W; both operands are rounded to tf32."""
    rows, acc = ct.load(Row, index=(0,), shape=(128,)), ct.full((128, 64), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(128, 32))):
        a = ct.load_advanced_indexing(X, (rows, ct.Slice(k * 32, 32)), padding_mode=ZERO).astype(ct.tfloat32)
        acc = ct.mma(a, ct.load(W, index=(k, 0), shape=(32, 64)).astype(ct.tfloat32), acc)
    ct.store(Y, index=(0, 0), tile=acc)


@ct.kernel
def weighted_choices(Y, Weight, Out, choices: Const, tokens: Const, width: Const):
    """Out[t] = sum of Weight[t, c] * Y[t * choices + c]: each token combines the results of its experts."""
    i, j = ct.bid(0), ct.bid(1)
    token = i * tokens + ct.arange(tokens, dtype=ct.int32)
    acc = ct.full((tokens, width), 0, dtype=ct.float32)
    for choice in range(choices):
        part = ct.load_advanced_indexing(Y, (token * choices + choice, ct.Slice(j * width, width)), padding_mode=ZERO)
        weight = ct.load(Weight, index=(i, choice), shape=(tokens, 1), padding_mode=ZERO)
        acc = acc + weight * part.astype(ct.float32)
    ct.store(Out, index=(i, j), tile=acc)


@ct.kernel
def paged_attention(Q, K, V, Page, O, length, scale: ct.Constant[float], tm: Const, tn: Const, width: Const):  # noqa: E741
    """One head; keys and values are in pages of tn rows, and Page has the number of each page in order."""
    i = ct.bid(0)
    q = ct.load(Q, index=(i, 0), shape=(tm, width))
    acc = ct.full((tm, width), 0, dtype=ct.float32)
    top = ct.full((tm, 1), -1e30, dtype=ct.float32)
    total = ct.full((tm, 1), 0, dtype=ct.float32)
    for j in range(ct.cdiv(length, tn)):
        within = ct.arange(tn, dtype=ct.int32)
        rows = ct.load(Page, index=(j,), shape=()) * tn + within
        k = ct.load_advanced_indexing(K, (rows, ct.Slice(0, width)), padding_mode=ZERO)
        s = ct.mma(q, ct.transpose(k), ct.full((tm, tn), 0, dtype=ct.float32)) * scale
        s = ct.where((j * tn + within)[None, :] < length, s, -1e30)
        new_top = ct.maximum(top, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - new_top)
        shrink = ct.exp(top - new_top)
        total = total * shrink + ct.sum(p, axis=1, keepdims=True)
        v = ct.load_advanced_indexing(V, (rows, ct.Slice(0, width)), padding_mode=ZERO)
        acc = ct.mma(p.astype(V.dtype), v, acc * shrink)
        top = new_top
    ct.store(O, index=(i, 0), tile=(acc / total).astype(O.dtype))


@ct.kernel
def largest(X, Value, Index, count: Const, rows: Const, columns: Const):
    """The `count` largest elements of each row and their columns, the first of equal ones, by repeated argmax."""
    i = ct.bid(0)
    x = ct.load(X, index=(i, 0), shape=(rows, columns), padding_mode=ct.PaddingMode.NEG_INF)
    column = ct.arange(columns, dtype=ct.int32)[None, :]
    for j in range(count):
        best = ct.argmax(x, axis=1, keepdims=True)
        ct.store(Value, index=(i, j), tile=ct.max(x, axis=1, keepdims=True))
        ct.store(Index, index=(i, j), tile=best)
        x = ct.where(column == best, -float("inf"), x)


@ct.kernel
def batched(A, B, C, tm: Const, tn: Const, tk: Const):
    """Three-dimensional tiles whose first extent is 1, reshaped before and after mma."""
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, tm, tk))):
        a = ct.load(A, index=(batch, i, k), shape=(1, tm, tk), padding_mode=ZERO).reshape((tm, tk))
        b = ct.load(B, index=(batch, k, j), shape=(1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(batch, i, j), tile=acc.astype(C.dtype).reshape((1, tm, tn)))


@ct.kernel
def batches(A, B, C, tb: Const, tm: Const, tn: Const, tk: Const):
    """Several products per block: mma of three-dimensional tiles, whose accumulators the loop over K carries."""
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.full((tb, tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(tb, tm, tk))):
        a = ct.load(A, index=(batch, i, k), shape=(tb, tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(batch, k, j), shape=(tb, tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(batch, i, j), tile=acc.astype(C.dtype))


@ct.kernel
def batches_of_type(A, B, C, tb: Const, tm: Const, tn: Const, tk: Const):
    """The products of one tile each of A, and of B for the whole batch, in accumulators of the type of C."""
    a = ct.load(A, index=(ct.bid(0), 0, 0), shape=(tb, tm, tk))
    b = ct.broadcast_to(ct.load(B, index=(0, 0, 0), shape=(1, tk, tn)), (tb, tk, tn))
    ct.store(C, index=(ct.bid(0), 0, 0), tile=ct.mma(a, b, ct.full((tb, tm, tn), 1, dtype=C.dtype)))


@ct.kernel
def batches_from_memory(A, B, C, D, tb: Const, tm: Const, tn: Const, tk: Const):
    """D = (|A| @ B^T + C) * 2: a computed operand, a transposed one, and an accumulator from memory that is scaled."""
    a = abs(ct.load(A, index=(0, 0, 0), shape=(tb, tm, tk)))
    b = ct.permute(ct.load(B, index=(0, 0, 0), shape=(tb, tn, tk)), (0, 2, 1))
    c = ct.mma(a, b, ct.load(C, index=(0, 0, 0), shape=(tb, tm, tn)))
    ct.store(D, index=(0, 0, 0), tile=c * 2.0)


@ct.kernel
def batches_chained(A, B, D, tb: Const, t: Const):
    """D = ((A @ B) @ B) + 1 with accumulators that a branch and a loop change as a whole."""
    a = ct.load(A, index=(0, 0, 0), shape=(tb, t, t))
    b = ct.load(B, index=(0, 0, 0), shape=(tb, t, t))
    acc = ct.full((tb, t, t), 0, dtype=ct.float32)
    for _ in range(2):
        acc = ct.mma(a, b, acc * 0.0)
        a = acc.astype(A.dtype)
    if ct.bid(0) == 0:
        acc = acc + 1.0
    ct.store(D, index=(0, 0, 0), tile=acc)


@ct.kernel
def fourier(X, R, Y, tb: Const, f: Const, g: Const):
    """The discrete Fourier transform of f * g complex points per row as products of real tiles, batched.

    X and Y are (rows, f * g, 2), R the roots of unity of f * g as (f * g, 2).
    """
    n = f * g
    x = ct.load(X, index=(ct.bid(0), 0, 0), shape=(tb, n, 2))
    re = ct.extract(x, index=(0, 0, 0), shape=(tb, n, 1)).reshape((tb, f, g))
    im = ct.extract(x, index=(0, 0, 1), shape=(tb, n, 1)).reshape((tb, f, g))
    # The transform of the columns, of f points each.
    powers = ct.arange(f, dtype=ct.int32)[:, None] * ct.arange(f, dtype=ct.int32)[None, :] % f * g
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    c, s = ct.broadcast_to(c[None, :, :], (tb, f, f)), ct.broadcast_to(s[None, :, :], (tb, f, f))
    re, im = ct.matmul(c, re) - ct.matmul(s, im), ct.matmul(c, im) + ct.matmul(s, re)
    # The twiddle factors between the columns and the rows.
    powers = ct.arange(f, dtype=ct.int32)[:, None] * ct.arange(g, dtype=ct.int32)[None, :]
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    re, im = re * c[None, :, :] - im * s[None, :, :], re * s[None, :, :] + im * c[None, :, :]
    # The transform of the rows, of g points each.
    powers = ct.arange(g, dtype=ct.int32)[:, None] * ct.arange(g, dtype=ct.int32)[None, :] % g * f
    c, s = ct.gather(R, (powers, 0)), ct.gather(R, (powers, 1))
    c, s = ct.broadcast_to(c[None, :, :], (tb, g, g)), ct.broadcast_to(s[None, :, :], (tb, g, g))
    re, im = ct.matmul(re, c) - ct.matmul(im, s), ct.matmul(im, c) + ct.matmul(re, s)
    re, im = ct.permute(re, (0, 2, 1)).reshape((tb, n, 1)), ct.permute(im, (0, 2, 1)).reshape((tb, n, 1))
    ct.store(Y, index=(ct.bid(0), 0, 0), tile=ct.cat((re, im), 2))


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
