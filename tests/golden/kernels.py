"""The kernels with golden PTX, and their signatures."""

import tilec as ct

Constant = ct.Constant[int]


@ct.kernel
def vector_add(a, b, c, tile: Constant):
    i = ct.bid(0)
    total = ct.load(a, index=(i,), shape=(tile,)) + ct.load(b, index=(i,), shape=(tile,))
    ct.store(c, index=(i,), tile=total)


@ct.kernel
def matmul(A, B, C, tm: Constant, tn: Constant, tk: Constant):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, index=(row, column), tile=ct.astype(total, C.dtype))


@ct.kernel
def row_sum(x, y, rows: Constant, columns: Constant):
    i = ct.bid(0)
    tile = ct.load(x, index=(i, 0), shape=(rows, columns), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(i,), tile=ct.sum(tile, axis=1))


@ct.kernel
def chained_multiplies(Q, K, V, Y, tm: Constant, tn: Constant, d: Constant):
    row = ct.bid(0)
    q = ct.load(Q, index=(row, 0), shape=(tm, d), padding_mode=ct.PaddingMode.ZERO)
    total = ct.full((tm, d), 0, dtype=ct.float32)
    for j in range(ct.num_tiles(V, axis=0, shape=(tn, d))):
        k = ct.load(K, index=(0, j), shape=(d, tn), padding_mode=ct.PaddingMode.ZERO)
        v = ct.load(V, index=(j, 0), shape=(tn, d), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(q, k, ct.full((tm, tn), 0, dtype=ct.float32))
        total = ct.mma(ct.astype(scores, V.dtype), v, total)
    ct.store(Y, index=(row, 0), tile=ct.astype(total, Y.dtype))


@ct.kernel
def transpose(x, y, tm: Constant, tn: Constant):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(tm, tn))))


@ct.kernel
def gather(x, indices, y, tile: Constant):
    i = ct.bid(0)
    chosen = ct.load(indices, index=(i,), shape=(tile,))
    ct.store(y, index=(i,), tile=ct.gather(x, chosen))


SIGNATURES = {
    "vector_add": "a: f32[?], b: f32[?], c: f32[?], tile=1024",
    "matmul": "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm=128, tn=128, tk=64",
    "row_sum": "x: f32[?,?], y: f32[?], rows=32, columns=64",
    "chained_multiplies": "Q: f16[?,?], K: f16[?,?], V: f16[?,?], Y: f16[?,?%8], tm=128, tn=64, d=64",
    "transpose": "x: f32[?,?], y: f32[?,?%4], tm=32, tn=64",
    "gather": "x: f32[?], indices: i32[?], y: f32[?], tile=256",
}
TARGETS = ("sm_100a", "sm_90a")
