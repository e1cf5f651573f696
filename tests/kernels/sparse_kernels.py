"""Kernels that gather and scatter rows and elements."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


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
