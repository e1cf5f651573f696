"""Triton kernels: elementwise, row reduction, matmul through TMA descriptors, histogram, sort, cast."""

import triton
import triton.language as tl


@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(c + offsets, tl.load(a + offsets, mask=inside) + tl.load(b + offsets, mask=inside), mask=inside)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=-float("inf"))
    numerator = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + offsets, numerator / tl.sum(numerator, axis=0), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    A = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    B = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    C = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    row = tl.program_id(0) // columns * BM
    column = tl.program_id(0) % columns * BN
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        accumulator = tl.dot(A.load([row, k * BK]), B.load([k * BK, column]), accumulator)
    C.store([row, column], accumulator.to(tl.float16))


@triton.jit
def warp_specialized_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    A = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    B = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    C = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    row = tl.program_id(0) // columns * BM
    column = tl.program_id(0) % columns * BN
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=True, num_stages=2):
        accumulator = tl.dot(A.load([row, k * BK]), B.load([k * BK, column]), accumulator)
    C.store([row, column], accumulator.to(tl.float16))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    values = tl.load(x + offsets, mask=inside, other=0)
    tl.atomic_add(counts + tl.arange(0, BINS), tl.histogram(values, BINS, mask=inside))


@triton.jit
def sort(x, y, COLUMNS: tl.constexpr):
    offsets = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(y + offsets, tl.sort(tl.load(x + offsets)))


@triton.jit
def masked_cast(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=inside).to(tl.float8e4nv), mask=inside)
