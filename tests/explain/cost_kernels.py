"""Kernels whose cost the tests compare with the simulator's counters."""

from __future__ import annotations

from attention_kernels import softmax_step

import tilec as ct


@ct.kernel
def matmul(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), ct.astype(total, C.dtype))


@ct.kernel
def persistent(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    columns = ct.cdiv(B.shape[1], TN)
    for tile in range(ct.bid(0), ct.cdiv(A.shape[0], TM) * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        total = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.num_tiles(A, 1, (TM, TK))):
            total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
        ct.store(C, (i, j), ct.astype(total, C.dtype))


@ct.kernel
def softmax(x, y, N: ct.Constant[int]):
    row = ct.astype(ct.load(x, (ct.bid(0), 0), (1, N)), ct.float32)
    powers = ct.exp2(row - ct.max(row, 1, keepdims=True), flush_to_zero=True)
    ct.store(y, (ct.bid(0), 0), ct.astype(powers * (1 / ct.sum(powers, 1, keepdims=True)), y.dtype))


@ct.kernel
def attention(Q, K, V, out, TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]):
    i = ct.bid(0)
    query = ct.load(Q, (i, 0), (TM, D))
    largest = ct.full((TM, 1), -1e30, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (TN, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (TN, D))), ct.zeros((TM, TN), ct.float32))
        powers, scale, largest, total = softmax_step(scores, largest, total)
        output = ct.mma(ct.astype(powers, Q.dtype), ct.load(V, (j, 0), (TN, D)), output * scale)
    ct.store(out, (i, 0), ct.astype(output / total, out.dtype))
