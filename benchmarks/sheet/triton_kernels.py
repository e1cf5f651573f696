"""Kernels in Triton that do the work of cases of the sheet, with the same tiles."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def product(a, b, row, column, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(tl.cdiv(K, TK)):
        total = tl.dot(a.load([row * TM, k * TK]), b.load([k * TK, column * TN]), total)
    return total


@triton.jit
def grouped(number, rows, columns):
    """The row and column of a tile, if tiles are numbered along bands of eight rows."""
    band = number // (8 * columns)
    height = min(rows - 8 * band, 8)
    return 8 * band + number % (8 * columns) % height, number % (8 * columns) // height


@triton.jit
def matmul(A, B, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """Operands through tensor descriptors, which TMA loads; tiles in bands of eight rows."""
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    row, column = grouped(tl.program_id(0), rows, columns)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    total = product(a, b, row, column, K, TM, TN, TK)
    c.store([row * TM, column * TN], total.to(C.dtype.element_ty))


@triton.jit
def attention(Q, K, V, O, scale, length, TM: tl.constexpr, TN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):  # noqa: E741
    """A block of queries of one head, in one pass over the keys; `length` is a multiple of the tiles."""
    first, head = tl.program_id(0) * TM, tl.program_id(1) * length
    queries = tl.make_tensor_descriptor(Q, [length * tl.num_programs(1), D], [D, 1], [TM, D])
    keys = tl.make_tensor_descriptor(K, [length * tl.num_programs(1), D], [D, 1], [TN, D])
    values = tl.make_tensor_descriptor(V, [length * tl.num_programs(1), D], [D, 1], [TN, D])
    outputs = tl.make_tensor_descriptor(O, [length * tl.num_programs(1), D], [D, 1], [TM, D])
    q = queries.load([head + first, 0])
    largest = tl.full((TM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((TM,), dtype=tl.float32)
    total = tl.zeros((TM, D), dtype=tl.float32)
    last = first + TM if CAUSAL else length
    for j in range(0, last, TN):
        scores = tl.dot(q, keys.load([head + j, 0]).T) * (scale * LOG2_E)
        if CAUSAL:
            visible = (first + tl.arange(0, TM))[:, None] >= (j + tl.arange(0, TN))[None, :]
            scores = tl.where(visible, scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)
        weight = weight * rescale + tl.sum(p, 1)
        total = tl.dot(p.to(Q.dtype.element_ty), values.load([head + j, 0]), total * rescale[:, None])
        largest = new_largest
    outputs.store([head + first, 0], (total / weight[:, None]).to(O.dtype.element_ty))


@triton.jit
def softmax(X, Y, step, columns, BLOCK: tl.constexpr):
    """A row per block."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.program_id(0) * step
    x = tl.load(X + row + at, mask=inside, other=float("-inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def layer_norm(X, W, B, Y, Mean, Scale, step, columns, eps, BLOCK: tl.constexpr):
    """A row per block, in tiles of BLOCK columns."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(X + row * step + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(X + row * step + at, mask=at < columns, other=0.0).to(tl.float32)
        deviation = tl.where(at < columns, x - mean, 0.0)
        total += deviation * deviation
    scale = tl.rsqrt(tl.sum(total, axis=0) / columns + eps)
    tl.store(Mean + row, mean)
    tl.store(Scale + row, scale)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(X + row * step + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(W + at, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(B + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(Y + row * step + at, ((x - mean) * scale * w + b).to(Y.dtype.element_ty), mask=inside)


@triton.jit
def add(a, b, c, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@triton.jit
def persistent_matmul(A, B, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """Each block computes every tile that is a multiple of the number of blocks away."""
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    for number in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0), flatten=True):
        row, column = grouped(number, rows, columns)
        total = product(a, b, row, column, K, TM, TN, TK)
        c.store([row * TM, column * TN], total.to(C.dtype.element_ty))


@triton.jit
def gated_matmul(A, B, D, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    d = tl.make_tensor_descriptor(D, [K, N], [N, 1], [TK, TN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    gate = tl.zeros((TM, TN), dtype=tl.float32)
    up = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(tl.cdiv(K, TK)):
        left = a.load([row * TM, k * TK])
        gate = tl.dot(left, b.load([k * TK, column * TN]), gate)
        up = tl.dot(left, d.load([k * TK, column * TN]), up)
    c.store([row * TM, column * TN], (gate / (1.0 + tl.exp(-gate)) * up).to(C.dtype.element_ty))


@triton.jit
def matmul_bias_gelu(A, B, bias, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    row, column = grouped(tl.program_id(0), rows, columns)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    at = column * TN + tl.arange(0, TN)
    shift = tl.load(bias + at, mask=at < N, other=0.0).to(tl.float32)
    x = product(a, b, row, column, K, TM, TN, TK) + shift[None, :]
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    # tanh(t) = 2 * sigmoid(2 * t) - 1: Triton has no tanh of its own.
    c.store([row * TM, column * TN], (x * tl.sigmoid(2.0 * inner)).to(C.dtype.element_ty))


@triton.jit
def rms_norm(X, W, Y, step, columns, eps, BLOCK: tl.constexpr):
    """A row per block, in tiles of BLOCK columns."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(X + row * step + at, mask=at < columns, other=0.0).to(tl.float32)
        total += x * x
    scale = tl.rsqrt(tl.sum(total, axis=0) / columns + eps)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(X + row * step + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(W + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(Y + row * step + at, (x * scale * w).to(Y.dtype.element_ty), mask=inside)


@triton.jit
def cumulative_sum(X, Y, step, columns, BLOCK: tl.constexpr):
    """A row per block, in tiles of BLOCK columns with a carry."""
    row = tl.program_id(0) * step
    carry = 0.0
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(X + row + at, mask=at < columns, other=0.0)
        tl.store(Y + row + at, tl.cumsum(x, axis=0) + carry, mask=at < columns)
        carry += tl.sum(x, axis=0)


@triton.jit
def split_matmul(A, B, C, M, N, K, PARTS: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """A block adds every PARTS-th tile of the depth to C in memory."""
    row, column, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(part, tl.cdiv(K, TK), PARTS):
        total = tl.dot(a.load([row * TM, k * TK]), b.load([k * TK, column * TN]), total)
    rows, along = row * TM + tl.arange(0, TM), column * TN + tl.arange(0, TN)
    inside = (rows < M)[:, None] & (along < N)[None, :]
    tl.atomic_add(C + rows[:, None] * N + along[None, :], total, mask=inside)


@triton.jit
def grouped_matmul(X, W, owners, Y, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """The tile of rows has the group owners[row]; W is [group, N, K]."""
    row, column = tl.program_id(0), tl.program_id(1)
    group = tl.load(owners + row)
    x = tl.make_tensor_descriptor(X, [M, K], [K, 1], [TM, TK])
    w = tl.make_tensor_descriptor(W + group.to(tl.int64) * N * K, [N, K], [K, 1], [TN, TK])
    y = tl.make_tensor_descriptor(Y, [M, N], [N, 1], [TM, TN])
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(tl.cdiv(K, TK)):
        total = tl.dot(x.load([row * TM, k * TK]), w.load([column * TN, k * TK]).T, total)
    y.store([row * TM, column * TN], total.to(Y.dtype.element_ty))


@triton.jit
def matmul_of_byte_weights(A, W, factors, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """8-bit integers [N, K] with a factor for each column of the result."""
    row, column = tl.program_id(0), tl.program_id(1)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    w = tl.make_tensor_descriptor(W, [N, K], [K, 1], [TN, TK])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(tl.cdiv(K, TK)):
        weights = w.load([column * TN, k * TK]).to(A.dtype.element_ty)
        total = tl.dot(a.load([row * TM, k * TK]), weights.T, total)
    at = column * TN + tl.arange(0, TN)
    factor = tl.load(factors + at, mask=at < N, other=0.0).to(tl.float32)
    c.store([row * TM, column * TN], (total * factor[None, :]).to(C.dtype.element_ty))
