"""ptxas spills nothing for kernels with several tiles in registers: the compute warps are chosen by their registers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sheet.cases import CASES as SHEET
from sheet.compilers import bytecode
from test_ptxas import assemblers

import tilec as ct
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.cubin.ptxas import run_ptxas

pytestmark = pytest.mark.peers
Extent = ct.Constant[int]


@ct.kernel
def gated(X, W, U, Y, tm: Extent, tn: Extent, tk: Extent):
    a, b = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, 1, (tm, tk))):
        x = ct.load(X, (ct.bid(0), k), (tm, tk))
        a = ct.mma(x, ct.load(W, (k, ct.bid(1)), (tk, tn)), a)
        b = ct.mma(x, ct.load(U, (k, ct.bid(1)), (tk, tn)), b)
    ct.store(Y, (ct.bid(0), ct.bid(1)), (a / (1 + ct.exp(-a)) * b).astype(Y.dtype))


@ct.kernel
def attention(Q, K, V, O, tm: Extent, tn: Extent, width: Extent):  # noqa: E741
    q = ct.load(Q, (ct.bid(0), 0), (tm, width))
    largest, total = ct.full((tm, 1), -1e30, ct.float32), ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (tn, width))):
        s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, width))), ct.zeros((tm, tn), ct.float32))
        new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p, factor = ct.exp(s - new_largest), ct.exp(largest - new_largest)
        total = total * factor + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(Q.dtype), ct.load(V, (j, 0), (tn, width)), acc * factor)
        largest = new_largest
    ct.store(O, (ct.bid(0), 0), (acc / total).astype(O.dtype))


@ct.kernel
def masked_attention(Q, K, V, O, tm: Extent, tn: Extent, width: Extent):  # noqa: E741
    """Two loops: the keys that all queries of the block see, then those that some do not see."""
    q = ct.load(Q, (ct.bid(0), 0), (tm, width))
    query = (ct.bid(0) * tm + ct.arange(tm, dtype=ct.int32))[:, None]
    largest, total = ct.full((tm, 1), -1e30, ct.float32), ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.cdiv((ct.bid(0) + 1) * tm, tn)):
        s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, width))), ct.zeros((tm, tn), ct.float32))
        if j >= ct.bid(0) * tm // tn:
            s = ct.where((j * tn + ct.arange(tn, dtype=ct.int32))[None, :] <= query, s, -1e30)
        new_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p, factor = ct.exp(s - new_largest), ct.exp(largest - new_largest)
        total = total * factor + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(Q.dtype), ct.load(V, (j, 0), (tn, width)), acc * factor)
        largest = new_largest
    ct.store(O, (ct.bid(0), 0), (acc / total).astype(O.dtype))


@ct.kernel
def loop_without_known_end(A, B, D, tm: Extent, tn: Extent, tk: Extent):
    acc, k = ct.zeros((tm, tn), ct.float32), 0
    while k < ct.num_tiles(A, 1, (tm, tk)):
        acc = ct.mma(ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn)), acc)
        k = k + 1
    ct.store(D, (ct.bid(0), ct.bid(1)), acc.astype(D.dtype))


@ct.kernel
def two_products(A, B, D, steps: int, tm: Extent, tn: Extent, tk: Extent):
    """The second product is added to the first, which the block stores and loads again."""
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(steps):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(D, (0, 0), acc)
    acc = ct.load(D, (0, 0), (tm, tn))
    for k in range(steps):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(D, (0, 0), acc)


@ct.kernel
def persistent(A, B, D, tm: Extent, tn: Extent, tk: Extent):
    """On sm_90a two roles compute alternate tiles."""
    columns = ct.cdiv(B.shape[1], tn)
    for tile in range(ct.bid(0), ct.cdiv(A.shape[0], tm) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, 1, (tm, tk))):
            total = ct.mma(ct.load(A, (row, k), (tm, tk)), ct.load(B, (k, column), (tk, tn)), total)
        ct.store(D, (row, column), total.astype(D.dtype))


@ct.kernel
def running_sum(X, Y):
    row = ct.load(X, (ct.bid(0), 0), (1, 4096))
    ct.store(Y, (ct.bid(0), 0), ct.cumsum(row, axis=1))


@ct.kernel
def products_in_a_row(A, B, D, steps: int, tm: Extent, tn: Extent, tk: Extent):
    """Two accumulators that start from zero, one after the other."""
    for i in ct.static_iter(range(2)):
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(steps):
            acc = ct.mma(ct.load(A, (i, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
        ct.store(D, (i, 0), acc.astype(D.dtype))


@ct.kernel
def products_in_a_chain(X, W, Y, size: Extent):
    """Products without a loop; each is the left operand of the next."""
    x = ct.load(X, (0, 0), (size, size))
    for i in ct.static_iter(range(5)):
        x = ct.mma(x, ct.load(W, (i, 0), (size, size)), ct.zeros((size, size), ct.float32)).astype(X.dtype)
    ct.store(Y, (0, 0), x)


@ct.kernel
def three_layers(X, first, second, third, Y, rows: Extent, depth: Extent, width: Extent):
    """On sm_90a the sums of the second product and its left operand are in registers at once."""
    h = ct.load(X, (0, 0), (rows, depth))
    h = ct.mma(h, ct.load(first, (0, 0), (depth, width)), ct.zeros((rows, width), ct.float32)).astype(X.dtype)
    h = ct.mma(h, ct.load(second, (0, 0), (width, width)), ct.zeros((rows, width), ct.float32)).astype(X.dtype)
    ct.store(Y, (0, 0), ct.mma(h, ct.load(third, (0, 0), (width, rows)), ct.zeros((rows, rows), ct.float32)))


@ct.kernel
def state_space(X, A, B, C, Y, states: Extent, width: Extent, size: Extent):
    """Chunks of Mamba 2: each score has the decay between two positions as a factor, for which exp2 has a test."""
    at, state = ct.arange(size, dtype=ct.int32), ct.zeros((states, width), ct.float32)
    for j in range(ct.num_tiles(X, 0, (size, width))):
        x, a = ct.load(X, (j, 0), (size, width)), ct.load(A, (j,), (size,))
        b, c = ct.load(B, (j, 0), (size, states)), ct.load(C, (j, 0), (size, states))
        last = ct.load(A, (j * size + size - 1,), (1,)).item()
        scores = ct.mma(c, ct.transpose(b), ct.zeros((size, size), ct.float32))
        decay = ct.exp2(ct.minimum(a[:, None] - a[None, :], 0.0))
        scores = ct.where(at[:, None] >= at[None, :], scores * decay, 0.0)
        y = ct.mma(c, state.astype(C.dtype), ct.zeros((size, width), ct.float32)) * ct.exp2(a)[:, None]
        ct.store(Y, (j, 0), ct.mma(scores.astype(X.dtype), x, y).astype(Y.dtype))
        late = (x.astype(ct.float32) * ct.exp2(last - a)[:, None]).astype(X.dtype)
        state = ct.mma(ct.transpose(b), late, state * ct.exp2(last))


CASES = [
    (running_sum, "X: f16[?,?], Y: f16[?,?]"),
    (gated, "X: f16[?,?], W: f16[?,?], U: f16[?,?], Y: f16[?,?], tm=128, tn=128, tk=64"),
    (attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=128"),
    (attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=64"),
    (masked_attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=64"),
    (masked_attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=128"),
    (attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=256"),
    (masked_attention, "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f16[?,?], tm=128, tn=128, width=256"),
    (loop_without_known_end, "A: f16[?,?], B: f16[?,?], D: f16[?,?], tm=128, tn=128, tk=64"),
    (persistent, "A: f16[?,?], B: f16[?,?], D: f16[?,?], tm=128, tn=128, tk=64"),
    (persistent, "A: f16[?,?], B: f16[?,?], D: f32[?,?], tm=128, tn=128, tk=64"),
    (persistent, "A: f16[?,?], B: f16[?,?], D: f16[?,?], tm=64, tn=256, tk=64"),
    (products_in_a_row, "A: f16[?,?], B: f16[?,?], D: f16[?,?], steps: i32, tm=128, tn=256, tk=64"),
    (products_in_a_chain, "X: f16[?,?], W: f16[?,?], Y: f16[?,?], size=128"),
    (
        three_layers,
        "X: f16[?,?], first: f16[?,?], second: f16[?,?], third: f16[?,?], Y: f32[?,?], rows=128, depth=64, width=256",
    ),
]


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("kernel", "signature"), CASES)
def test_nothing_is_spilled(kernel, signature: str, target: str) -> None:
    cubin = assemble(ct.compile(kernel, target=target, signature=signature, stop="ptx").ptx, target)
    assert cubin.spill_bytes == 0


def test_accumulators_larger_than_the_registers() -> None:
    """On sm_90a the block computes half of its tile at a time."""
    cases = [
        (gated, "X: f16[?,?], W: f16[?,?], U: f16[?,?], Y: f16[?,?], tm=128, tn=256, tk=64"),
        (loop_without_known_end, "A: f16[?,?], B: f16[?,?], D: f16[?,?], tm=256, tn=256, tk=64"),
        (
            two_products,
            "A: f16[?,?], B: f16[?,?], D: f32[?%1,?%4] strides (?%4,1) align 16, steps: i32, tm=256, tn=256, tk=32",
        ),
    ]
    for kernel, signature in cases:
        cubin = assemble(ct.compile(kernel, target="sm_90a", signature=signature, stop="ptx").ptx, "sm_90a")
        assert cubin.spill_bytes == 0


def test_accumulators_of_all_columns_of_tensor_memory() -> None:
    """On sm_100a the epilogue reads some columns of both accumulators at a time."""
    signature = "X: f16[?,?], W: f16[?,?], U: f16[?,?], Y: f16[?,?], tm=128, tn=256, tk=64"
    cubin = assemble(ct.compile(gated, target="sm_100a", signature=signature, stop="ptx").ptx, "sm_100a")
    assert cubin.spill_bytes == 0


@pytest.mark.parametrize("name", ["attention causal 256x128 d128", "moe f16 128x128x64"])
def test_scalars_of_roles_with_few_registers_at_launch(name: str, tmp_path: Path) -> None:
    """Threads have 128 and 168 registers at launch, for values that are computed before the roles."""
    source = tmp_path / "kernel.tileirbc"
    source.write_bytes(bytecode(next(case for case in SHEET if case.name == name)))
    ptx = ct.compile(str(source), target="sm_100a", stop="ptx").ptx
    for assembler in assemblers():
        _, log = run_ptxas(assembler, ptx, ["-arch=sm_100a", "-O3", "-v"])
        assert re.findall(r"(\d+) bytes spill", log) == ["0", "0"]


def test_arguments_of_a_test() -> None:
    """Of 128 scores and 128 exponents in a thread, 32 exponents are in registers at once."""
    signature = "X: f16[?,?], A: f32[?], B: f16[?,?], C: f16[?,?], Y: f16[?,?], states=64, width=64, size=128"
    ptx = ct.compile(state_space, target="sm_90a", signature=signature, stop="ptx").ptx
    assert assemble(ptx, "sm_90a").spill_bytes <= 128


@pytest.mark.parametrize("name", ["nvfp4 128x256x256", "linear attention 128 d128"])
def test_tiles_without_room_in_registers(name: str, tmp_path: Path) -> None:
    """Beside an accumulator of 128 registers all elements of an operand of 256x256; distances beside products."""
    source = tmp_path / "kernel.tileirbc"
    source.write_bytes(bytecode(next(case for case in SHEET if case.name == name)))
    ptx = ct.compile(str(source), target="sm_90a", stop="ptx").ptx
    assert assemble(ptx, "sm_90a").spill_bytes == 0
