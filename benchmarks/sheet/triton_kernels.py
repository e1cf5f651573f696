"""The kernels of the sheet in Triton: those whose work is that of a case, with the same tiles."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def matmul(A, B, C, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """Operands through tensor descriptors, which TMA loads; tiles in bands of eight rows."""
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    number = tl.program_id(0)
    band = number // (8 * columns)
    height = min(rows - 8 * band, 8)
    row = 8 * band + number % (8 * columns) % height
    column = number % (8 * columns) // height
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [TM, TK])
    b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [TK, TN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [TM, TN])
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(tl.cdiv(K, TK)):
        total = tl.dot(a.load([row * TM, k * TK]), b.load([k * TK, column * TN]), total)
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
