"""The kernels whose attributes are mutated: every ring runs through its slots at least twice."""

from __future__ import annotations

import tilec as ct

ROWS, COLUMNS, DEPTH = 64, 32, 32
# Five tiles of each of two blocks: of two roles that compute them in turn, each waits for the other one twice.
TILES = 10


@ct.kernel
def gemm(A, B, C, steps: int):
    """One product, whose ring is in a loop."""
    acc = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        acc = ct.mma(ct.load(A, (ct.bid(0), k), (ROWS, DEPTH)), ct.load(B, (k, 0), (DEPTH, COLUMNS)), acc)
    ct.store(C, (ct.bid(0), 0), acc)


@ct.kernel
def gemms_in_a_row(A, B, C, steps: int):
    """Two products one after the other, which use the same memory."""
    for i in ct.static_iter(range(2)):
        acc = ct.zeros((ROWS, COLUMNS), ct.float32)
        for k in range(i, steps):
            acc = ct.mma(ct.load(A, (ct.bid(0), k), (ROWS, DEPTH)), ct.load(B, (k, i), (DEPTH, COLUMNS)), acc)
        ct.store(C, (ct.bid(0), i), acc)


@ct.kernel
def persistent(A, B, C, steps: int):
    """More tiles per block than a ring has slots, with a bias, and stores of two and of three tiles to one place."""
    bias = ct.load(B, (0, 0), (1, COLUMNS)).astype(ct.float32)
    for tile in range(ct.bid(0), TILES, ct.num_blocks(0)):
        acc = ct.zeros((ROWS, COLUMNS), ct.float32)
        for k in range(steps):
            acc = ct.mma(ct.load(A, (tile % 2, k), (ROWS, DEPTH)), ct.load(B, (k, tile % 3), (DEPTH, COLUMNS)), acc)
        ct.store(C, (tile, 0), acc)
        ct.store(C, (tile, 1), ct.maximum(acc + bias, 0))
        ct.store(C, (ct.bid(0), 2 + (tile // 2 + 1) // 3), acc)


@ct.kernel
def counter(A, B, C, steps: int):
    """Tiles that a block takes from a counter, whose value crosses to the other roles."""
    tile = ct.atomic_add(C, (0, 5 * COLUMNS), 1.0, memory_order=ct.MemoryOrder.RELAXED).astype(ct.int32)
    while tile < TILES:
        acc = ct.zeros((ROWS, COLUMNS), ct.float32)
        for k in range(steps):
            acc = ct.mma(ct.load(A, (tile % 2, k), (ROWS, DEPTH)), ct.load(B, (k, tile % 3), (DEPTH, COLUMNS)), acc)
        ct.store(C, (tile, 0), acc)
        tile = ct.atomic_add(C, (0, 5 * COLUMNS), 1.0, memory_order=ct.MemoryOrder.RELAXED).astype(ct.int32)


@ct.kernel
def attention(A, B, C, steps: int):
    """Two products per iteration, a rescaled accumulator, and an operand from registers."""
    q = ct.load(A, (ct.bid(0), 0), (ROWS, DEPTH))
    largest, total = ct.full((ROWS, 1), -8, dtype=ct.float32), ct.zeros((ROWS, 1), ct.float32)
    acc = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        scores = ct.mma(q, ct.load(B, (k, 0), (DEPTH, COLUMNS)), ct.zeros((ROWS, COLUMNS), ct.float32))
        scores = ct.minimum(ct.maximum(scores, -4), 4)
        peak = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
        p, factor = ct.exp2(scores - peak, flush_to_zero=True), ct.exp2(largest - peak)
        total = total * factor + ct.sum(p, 1, keepdims=True)
        acc = ct.mma(p.astype(A.dtype), ct.load(B, (k, 1), (DEPTH, COLUMNS)), acc * factor)
        largest = peak
    ct.store(C, (ct.bid(0), 0), acc)
    ct.store(C, (ct.bid(0), 1), ct.broadcast_to(total, (ROWS, COLUMNS)))


@ct.kernel
def warpgroups(A, B, C, steps: int):
    """Two products per iteration by two warpgroups, which on sm_90a multiply one after the other."""
    q = ct.load(A, (0, 0), (2 * ROWS, DEPTH))
    acc = ct.zeros((2 * ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        scores = ct.mma(q, ct.load(B, (k, 0), (DEPTH, COLUMNS)), ct.zeros((2 * ROWS, COLUMNS), ct.float32))
        p = ct.minimum(ct.maximum(scores, -2), 2).astype(A.dtype)
        acc = ct.mma(p, ct.load(B, (k, 1), (DEPTH, COLUMNS)), acc + 1)
    ct.store(C, (ct.bid(0), 0), acc)


@ct.kernel
def gradient(A, B, C, steps: int):
    """Three products per iteration, of which on sm_90a two are in flight while threads wait for the first."""
    q, g = ct.load(A, (ct.bid(0), 0), (ROWS, DEPTH)), ct.load(A, (ct.bid(0), 1), (ROWS, DEPTH))
    acc = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        scores = ct.mma(q, ct.load(B, (k, 0), (DEPTH, COLUMNS)), ct.zeros((ROWS, COLUMNS), ct.float32))
        p = ct.minimum(ct.maximum(scores, -2), 2)
        changes = ct.mma(g, ct.load(B, (k, 1), (DEPTH, COLUMNS)), ct.zeros((ROWS, COLUMNS), ct.float32))
        p = ct.minimum(ct.maximum(p * changes, -2), 2)
        acc = ct.mma(p.astype(A.dtype), ct.load(B, (k, 2), (DEPTH, COLUMNS)), acc)
    ct.store(C, (ct.bid(0), 0), acc)


@ct.kernel
def two_chains(A, B, C, steps: int):
    """Two attentions without softmax, which roles of their own compute, and which share the tiles of B."""
    first, second = ct.zeros((ROWS, COLUMNS), ct.float32), ct.zeros((ROWS, COLUMNS), ct.float32)
    bias = ct.load(B, (0, 2), (1, COLUMNS)).astype(ct.float32)
    for k in range(steps):
        keys, values = ct.load(B, (k, 0), (DEPTH, COLUMNS)), ct.load(B, (k, 1), (DEPTH, COLUMNS))
        scores = ct.mma(ct.load(A, (0, k), (ROWS, DEPTH)), keys, ct.zeros((ROWS, COLUMNS), ct.float32))
        others = ct.mma(ct.load(A, (1, k), (ROWS, DEPTH)), keys, ct.zeros((ROWS, COLUMNS), ct.float32))
        first = ct.mma(ct.minimum(scores + bias, 2).astype(A.dtype), values, first)
        second = ct.mma(ct.maximum(others + bias, -2).astype(A.dtype), values, second)
    ct.store(C, (2 * ct.bid(0), 0), first)
    ct.store(C, (2 * ct.bid(0) + 1, 0), second)


@ct.kernel
def rows(A, B, C, steps: int):
    """Rows in a stream, with a store per iteration."""
    total = ct.zeros((ROWS, DEPTH), ct.float32)
    for k in range(steps):
        total = total + ct.load(A, (ct.bid(0), k), (ROWS, DEPTH)).astype(ct.float32)
        ct.store(C, (ct.bid(0), k), total)


@ct.kernel
def gathered(A, B, C, steps: int):
    """One product, whose left operand threads load some iterations ahead: copies have no padding but zero."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    acc = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        a = ct.gather(A, (rows + ROWS * ct.bid(0), columns + DEPTH * k), padding_value=1)
        acc = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), acc)
    ct.store(C, (ct.bid(0), 0), acc)


@ct.kernel
def copied(A, B, C, steps: int):
    """One product, whose left operand a role of its own copies."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    acc = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        a = ct.gather(A, (rows + ROWS * ct.bid(0), columns + DEPTH * k))
        acc = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), acc)
    ct.store(C, (ct.bid(0), 0), acc)


KERNELS = {
    "gemm": gemm,
    "gemms in a row": gemms_in_a_row,
    "persistent": persistent,
    "counter": counter,
    "attention": attention,
    "warpgroups": warpgroups,
    "two chains": two_chains,
    "two chains over scores": two_chains,
    "rows": rows,
    "gathered": gathered,
    "copied": copied,
    "gradient": gradient,
}
# Kernels whose mutants differ from those of others on some targets alone.
TARGETS_OF = {"warpgroups": ("sm_90a",), "gradient": ("sm_90a",)}
# Kernels for a target with less tensor memory, all of which accumulators need.
TENSOR_MEMORY_COLUMNS = {"two chains over scores": 128}
# Hints by kernel. Rings have fewer slots than a block has tiles: a release that is missing for each tile leaves none.
HINTS = {
    "stages": {"persistent": 2, "counter": 2, "copied": 3, "two chains over scores": 3, "warpgroups": 3, "gradient": 3},
    "warps": {"warpgroups": 8},
}
