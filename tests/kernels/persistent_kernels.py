"""Kernels whose blocks compute one tile block each, for tests with the hint `persistent`."""

from __future__ import annotations

import math

import tilec as ct

RELAXED = ct.MemoryOrder.RELAXED


@ct.kernel
def count_runs(runs):
    """Adds 1 to the element of the block."""
    number = (ct.bid(2) * ct.num_blocks(1) + ct.bid(1)) * ct.num_blocks(0) + ct.bid(0)
    ct.atomic_add(runs, number, 1, memory_order=RELAXED)


@ct.kernel
def count_all(runs):
    """Adds 1 to the same element in all blocks."""
    ct.atomic_add(runs, 0, 1, memory_order=RELAXED)


def store_product(A, B, C, i, j, TM, TN, TK):
    """Stores a tile of the product of two matrices."""
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def product(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    store_product(A, B, C, ct.bid(0), ct.bid(1), TM, TN, TK)


@ct.kernel
def softmax(X, Y, TM: ct.Constant[int], TN: ct.Constant[int]):
    x = ct.load(X, (ct.bid(0), 0), (TM, TN), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    powers = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, (ct.bid(0), 0), (powers / ct.sum(powers, axis=1, keepdims=True)).astype(Y.dtype))


def load_rows(X, head, i, rows, D):
    """Rows of the matrix of a head."""
    return ct.load(X, (head, i, 0), (1, rows, D)).reshape((rows, D))


def with_scores(scores, V, head, j, largest, total, output):
    """The maximum, the sum of the weights and the output of each row, with the scores of tile j of the keys."""
    new = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
    powers, factor = ct.exp2(scores - new), ct.exp2(largest - new)
    total = total * factor + ct.sum(powers, 1, keepdims=True)
    values = load_rows(V, head, j, scores.shape[1], output.shape[1])
    return new, total, ct.mma(powers.astype(V.dtype), values, output * factor)


@ct.kernel
def attention(Q, K, V, lengths, out, scale: float, TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]):
    """Causal attention with as many keys as the head has: blocks without a query of the head end at once."""
    i, head = ct.bid(0), ct.bid(1)
    length = ct.load(lengths, (head,), (1,)).item()
    if i * TM >= length:
        return
    query = load_rows(Q, head, i, TM, D)
    largest, total = ct.full((TM, 1), -math.inf, ct.float32), ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    rows = (i * TM + ct.arange(TM, dtype=ct.int32)).reshape((TM, 1))
    for j in range(ct.cdiv(ct.minimum((i + 1) * TM, length), TN)):
        keys = load_rows(K, head, j, TN, D)
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((TM, TN), ct.float32)) * scale
        columns = (j * TN + ct.arange(TN, dtype=ct.int32)).reshape((1, TN))
        scores = ct.where((columns <= rows) & (columns < length), scores, -math.inf)
        largest, total, output = with_scores(scores, V, head, j, largest, total, output)
    ct.store(out, (head, i, 0), (output / total).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def chains(Q, K, V, lengths, out, scale: float, TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]):
    """Attention to all keys, whose tiles of 256 rows are two chains of multiplies."""
    i, head = ct.bid(0), ct.bid(1)
    query = load_rows(Q, head, i, TM, D)
    largest, total = ct.full((TM, 1), -math.inf, ct.float32), ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    for j in range(ct.cdiv(K.shape[1], TN)):
        keys = load_rows(K, head, j, TN, D)
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((TM, TN), ct.float32)) * scale
        largest, total, output = with_scores(scores, V, head, j, largest, total, output)
    ct.store(out, (head, i, 0), (output / total).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def strided(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """Computes all of its tiles in a loop of its own."""
    columns = ct.cdiv(B.shape[1], TN)
    for tile in range(ct.bid(0), ct.cdiv(A.shape[0], TM) * columns, ct.num_blocks(0)):
        store_product(A, B, C, tile // columns, tile % columns, TM, TN, TK)


@ct.kernel
def split_depth(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """Blocks along axis 2 add parts of the depth, in steps of the grid: no loop over tiles of C."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.bid(2), ct.num_tiles(A, 1, (TM, TK)), ct.num_blocks(2)):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    rows = i * TM + ct.arange(TM, dtype=ct.int32)
    columns = j * TN + ct.arange(TN, dtype=ct.int32)
    ct.atomic_add(C, (rows[:, None], columns[None, :]), total, memory_order=RELAXED)


@ct.kernel
def waits(flags, out):
    """Each block waits for the one before it."""
    me = ct.bid(0)
    while ct.atomic_add(flags, me, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
        pass
    ct.store(out, (me,), me)
    ct.atomic_add(flags, me + 1, 1, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def until_converged(X, Y):
    """A loop whose end depends on values of the block alone."""
    x, steps = ct.load(X, (ct.bid(0),), (32,)), 0
    while ct.max(x) > 1.0:
        x = x * 0.5
        steps += 1
    ct.store(Y, (ct.bid(0),), x + steps)


@ct.kernel
def depth_of_a_bit(A, B, flags, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """A bit of a tile that threads compute decides what is loaded: bits do not cross between roles."""
    i = ct.bid(0)
    bits = ct.load(flags, (i,), (4,)) > 0
    total = ct.zeros((TM, TN), ct.float32)
    if ct.extract(bits, (i % 4,), (1,)).item():
        for k in range(ct.num_tiles(A, 1, (TM, TK))):
            total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, 0), (TK, TN)), total)
    ct.store(C, (i, 0), total.astype(C.dtype))
