"""Loads by TMA after an acquire: a proxy fence of the role that loads orders them, and the ring stays.

Weak loads follow no acquire whose result nothing uses, unless another read may show the release before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LOAD, FENCE = "cp.async.bulk.tensor.2d.shared::", "fence.proxy.async.global;"


@ct.kernel
def stream_k(A, B, C, TM: Const, TN: Const, TK: Const):
    """Each block has an equal part of all iterations; atomics add partial tiles."""
    rows, columns = ct.cdiv(A.shape[0], TM), ct.cdiv(B.shape[1], TN)
    depth = ct.num_tiles(A, axis=1, shape=(TM, TK))
    total = rows * columns * depth
    part = ct.cdiv(total, ct.num_blocks(0))
    at = ct.bid(0) * part
    end = ct.minimum(at + part, total)
    while at < end:
        tile, first = at // depth, at % depth
        last = ct.minimum(depth, first + end - at)
        i, j = tile // columns, tile % columns
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(first, last):
            a = ct.load(A, (i, k), (TM, TK), padding_mode=ZERO)
            acc = ct.mma(a, ct.load(B, (k, j), (TK, TN), padding_mode=ZERO), acc)
        if last - first == depth:
            ct.store(C, (i, j), acc)
        else:
            r = i * TM + ct.arange(TM, dtype=ct.int32)[:, None]
            c = j * TN + ct.arange(TN, dtype=ct.int32)[None, :]
            ct.atomic_add(C, (r, c), acc)
        at += last - first


@pytest.mark.parametrize("hints", [{}, {"roles": False}], ids=str)
@pytest.mark.parametrize(("shape", "blocks"), [((100, 90, 200), 3), ((64, 130, 320), 5)])
def test_stream_k(
    shape: tuple[int, int, int], blocks: int, target: str, hints: dict[str, Any], random: np.random.Generator
) -> None:
    m, n, k = shape
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((m, k), (k, n)))
    arguments = a, b, np.zeros((m, n), np.float32), 64, 64, 32
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for (result,) in run_everywhere(stream_k, (blocks,), arguments, (2,), target=target, hints=hints, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(result, exact)


def _ptx(kernel: Any, arguments: tuple[Any, ...], target: str) -> str:
    signature = Signature.from_arguments(kernel, arguments)
    return ct.compile(kernel, target=target, signature=signature, stop="ptx").ptx


def test_the_ring_of_stream_k_stays(target: str) -> None:
    """No tile block learns which atomics came first, so that no load can rely on one."""
    array = np.zeros((128, 128), np.float16)
    ptx = _ptx(stream_k, (array, array, np.zeros((128, 128), np.float32), 64, 64, 32), target)
    assert LOAD in ptx and FENCE not in ptx
    assert "fence.acq_rel.gpu" in ptx, "the atomics still acquire and release for other tile blocks"


@ct.kernel
def products_of_tickets(A, B, C, TICKETS, TM: Const, TN: Const, TK: Const):
    """Each block takes parts of the depth by tickets; atomics add their products."""
    parts = ct.num_tiles(A, axis=1, shape=(TM, TK)) // 2
    ticket = ct.atomic_add(TICKETS, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    while ticket < parts:
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(2 * ticket, 2 * ticket + 2):
            a = ct.load(A, (ct.bid(1), k), (TM, TK), padding_mode=ZERO)
            acc = ct.mma(a, ct.load(B, (k, ct.bid(2)), (TK, TN), padding_mode=ZERO), acc)
        r = ct.bid(1) * TM + ct.arange(TM, dtype=ct.int32)[:, None]
        c = ct.bid(2) * TN + ct.arange(TN, dtype=ct.int32)[None, :]
        ct.atomic_add(C, (r, c), acc)
        ticket = ct.atomic_add(TICKETS, 0, 1, memory_order=ct.MemoryOrder.RELAXED)


def test_a_relaxed_read_may_show_the_release_that_an_acquire_reads(target: str, random: np.random.Generator) -> None:
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((64, 192), (192, 64)))
    arguments = a, b, np.zeros((64, 64), np.float32), np.zeros(1, np.int32), 64, 64, 32
    exact = a.astype(np.float64) @ b.astype(np.float64)
    results = run_everywhere(products_of_tickets, (2, 1, 1), arguments, (2, 3), target=target, hints={}, seeds=(0, 1))
    for result, _ in results:
        np.testing.assert_array_equal(result, exact)
    ptx = _ptx(products_of_tickets, arguments, target)
    assert LOAD in ptx and ptx.count(FENCE) == 1


@ct.kernel
def gradients(A, B, X, Y, TM: Const, TN: Const, D: Const):
    """Each iteration adds a product to rows of X by atomics, and another one to a tile that is stored at the end."""
    b = ct.load(B, (ct.bid(0), 0), (TN, D), padding_mode=ZERO)
    y = ct.zeros((TN, D), ct.float32)
    for i in range(ct.num_tiles(A, axis=0, shape=(TM, D))):
        a = ct.load(A, (i, 0), (TM, D), padding_mode=ZERO)
        s = ct.mma(a, ct.transpose(b), ct.zeros((TM, TN), ct.float32)).astype(ct.float16)
        y = ct.mma(ct.transpose(s), a, y)
        x = ct.mma(s, b, ct.zeros((TM, D), ct.float32))
        rows = i * TM + ct.arange(TM, dtype=ct.int32)[:, None]
        ct.atomic_add(X, (rows, ct.arange(D, dtype=ct.int32)[None, :]), x)
    ct.store(Y, (ct.bid(0), 0), y)


@pytest.mark.parametrize("hints", [{}, {"roles": False}], ids=str)
def test_atomics_of_each_iteration_leave_the_ring(
    target: str, hints: dict[str, Any], random: np.random.Generator
) -> None:
    a, b = (random.integers(-2, 3, (rows, 64)).astype(np.float16) for rows in (200, 120))
    a[:, 4:] = 0
    arguments = a, b, np.zeros((200, 64), np.float32), np.zeros((120, 64), np.float32), 64, 64, 64
    s = a.astype(np.float64) @ b.T.astype(np.float64)
    results = run_everywhere(gradients, (2,), arguments, (2, 3), target=target, hints=hints, seeds=(0, 1, 2))
    for x, y in results:
        np.testing.assert_array_equal(x, s @ b)
        np.testing.assert_array_equal(y, s.T @ a)
    ptx = _ptx(gradients, arguments, target)
    assert ptx.count(LOAD) > 1 and FENCE not in ptx


@ct.kernel
def split_k(A, B, C, LOCKS, SPLITS: Const, TM: Const, TN: Const, TK: Const):
    """Persistent split-K: blocks add to a tile one after the other, and wait for their turn."""
    depth = ct.num_tiles(A, axis=1, shape=(TM, TK))
    columns = ct.cdiv(B.shape[1], TN)
    tiles = ct.cdiv(A.shape[0], TM) * columns
    for work in range(ct.bid(0), tiles * SPLITS, ct.num_blocks(0)):
        tile, split = work // SPLITS, work % SPLITS
        i, j = tile // columns, tile % columns
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(split * depth // SPLITS, (split + 1) * depth // SPLITS):
            a = ct.load(A, (i, k), (TM, TK), padding_mode=ZERO)
            acc = ct.mma(a, ct.load(B, (k, j), (TK, TN), padding_mode=ZERO), acc)
        while ct.atomic_cas(LOCKS, tile, split, split, memory_order=ct.MemoryOrder.ACQUIRE) != split:
            pass
        if split > 0:
            acc = acc + ct.load(C, (i, j), (TM, TN), padding_mode=ZERO)
        ct.store(C, (i, j), acc)
        ct.atomic_xchg(LOCKS, tile, split + 1, memory_order=ct.MemoryOrder.RELEASE)


@pytest.mark.parametrize(("shape", "blocks"), [((100, 90, 200), 2), ((64, 64, 320), 3)])
def test_split_k_in_turn(shape: tuple[int, int, int], blocks: int, target: str, random: np.random.Generator) -> None:
    m, n, k = shape
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((m, k), (k, n)))
    locks = np.zeros(16, np.int32)
    arguments = a, b, np.zeros((m, n), np.float32), locks, 2, 64, 64, 32
    exact = a.astype(np.float64) @ b.astype(np.float64)
    results = run_everywhere(split_k, (blocks,), arguments, (2, 3), target=target, hints={}, seeds=(0, 1))
    for result, _ in results:
        np.testing.assert_array_equal(result, exact)
    ptx = _ptx(split_k, arguments, target)
    assert LOAD in ptx and ptx.count(FENCE) == 1


@ct.kernel
def polled(A, B, C, READY, TM: Const, TN: Const, TK: Const):
    """Each iteration waits until another kernel has written the rows of B that it loads."""
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        while ct.atomic_or(READY, k, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
            pass
        a = ct.load(A, (ct.bid(0), k), (TM, TK), padding_mode=ZERO)
        acc = ct.mma(a, ct.load(B, (k, 0), (TK, TN), padding_mode=ZERO), acc)
    ct.store(C, (ct.bid(0), 0), acc)


def test_loads_do_not_run_ahead_of_an_acquire_of_their_loop(target: str, random: np.random.Generator) -> None:
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((64, 96), (96, 64)))
    arguments = a, b, np.zeros((64, 64), np.float32), np.ones(3, np.int32), 64, 64, 32
    for (result,) in run_everywhere(polled, (1,), arguments, (2,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(result, a.astype(np.float64) @ b.astype(np.float64))
    compiled = ct.compile(polled, target=target, signature=Signature.from_arguments(polled, arguments), stop="ptx")
    assert LOAD not in compiled.ptx
    assert any("the load comes after an acquire" in str(remark) for remark in compiled.all_remarks)
