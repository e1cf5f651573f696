"""Kernels that update memory atomically; test_atomic_kernels.py compares them with numpy."""

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE
HALF, SINGLE = "f16[?,?]", "f32[?,?]"
MATRICES = f"A: {HALF}, B: {HALF}, C: {SINGLE}"
SPLIT = "splits=3, tm=128, tn=64, tk=64"
# The signatures for which each kernel is compiled by every assembler.
SIGNATURES = {
    "scatter_add": ["Index: i32[?], Value: f16[?], Sum: f16[?], size=256"],
    "histogram": ["X: i32[?], Count: i32[?], size=256"],
    "embedding_gradient": ["Token: i32[?], DY: bf16[?,?], DW: bf16[?,?], tokens=16, width=128"],
    "passed_along": ["Value: i64[?], Flag: i32[?], size=256"],
    "split_k": [f"{MATRICES}, {SPLIT}"],
    "split_k_by_view": [f"{MATRICES}, {SPLIT}"],
    "split_k_in_turn": [f"{MATRICES}, Turn: i32[?,?], {SPLIT}"],
    "stream_k": [f"{MATRICES}, each=5, tm=128, tn=64, tk=64"],
    "experts_added": [
        "X: f16[?,?], W: f16[?,?,?], Pair: i32[?], Expert: i32[?], Weight: f32[?], Y: f32[?,?], "
        "choices=2, tm=128, tn=64, tk=64"
    ],
    "layer_norm_backward": [
        f"X: {SINGLE}, W: f32[?], Mean: f32[?], Scale: f32[?], DY: {SINGLE}, DX: {SINGLE}, DW: f32[?], DB: f32[?], "
        "rows=16, size=256"
    ],
    "layer_norm_gradient": [f"DY: {SINGLE}, Normal: {SINGLE}, DW: f32[?], DB: f32[?], rows=64, width=128"],
    "layer_norm_gradient_locked": [
        f"DY: {SINGLE}, Normal: {SINGLE}, DW: f32[?], DB: f32[?], Lock: i32[?], rows=64, width=128"
    ],
}


@ct.kernel
def scatter_add(Index, Value, Sum, size: Const):
    """Sum[Index[i]] += Value[i]; indices outside Sum are dropped."""
    block = ct.bid(0)
    index = ct.load(Index, index=(block,), shape=(size,))
    value = ct.load(Value, index=(block,), shape=(size,))
    ct.atomic_add(Sum, index, value, memory_order=RELAXED)


@ct.kernel
def histogram(X, Count, size: Const):
    """Count[b] = how many elements of X are b."""
    position = ct.bid(0) * size + ct.arange(size, dtype=ct.int32)
    value = ct.gather(X, position)
    # The index of an element that X does not have is outside Count.
    ct.atomic_add(Count, ct.where(position < X.shape[0], value, -1), 1, memory_order=RELAXED)


@ct.kernel
def embedding_gradient(Token, DY, DW, tokens: Const, width: Const):
    """DW[Token[i], :] += DY[i, :]; the tokens are rows of DW, and the tiles whole."""
    i, j = ct.bid(0), ct.bid(1)
    token = ct.load(Token, index=(i,), shape=(tokens,))
    dy = ct.load(DY, index=(i, j), shape=(tokens, width))
    column = j * width + ct.arange(width, dtype=ct.int32)
    at = (token.reshape((tokens, 1)), column.reshape((1, width)))
    # Without bounds, whose masks could differ, successive columns are updated by vectors.
    ct.atomic_add(DW, at, dy, check_bounds=False, memory_order=RELAXED)


@ct.kernel
def passed_along(Value, Flag, size: Const):
    """Each block waits for the one before, and adds 1 to every value; Flag counts the blocks that are done."""
    block = ct.bid(0)
    while ct.atomic_cas(Flag, 0, block, block, memory_order=ACQUIRE) != block:
        pass
    ct.store(Value, index=(0,), tile=ct.load(Value, index=(0,), shape=(size,)) * 2 + block)
    ct.atomic_add(Flag, 0, 1, memory_order=RELEASE)


def added_to_tile(C, i, j, tile, tm, tn):
    """C's tile at (i, j) += tile."""
    row, column = i * tm + ct.arange(tm, dtype=ct.int32), j * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(C, (row.reshape((tm, 1)), column.reshape((1, tn))), tile, memory_order=RELAXED)


def sum_of_steps(A, B, i, j, first, end, tm, tn, tk):
    """The sum of the products of A's tile (i, k) and B's tile (k, j) for k from first to end - 1."""
    acc = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(first, end):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    return acc


def part_of_product(A, B, i, j, split, splits, tm, tn, tk):
    """The sum of one of `splits` ranges of the steps of K."""
    steps = ct.num_tiles(A, axis=1, shape=(tm, tk))
    each = ct.cdiv(steps, splits)
    return sum_of_steps(A, B, i, j, split * each, min((split + 1) * each, steps), tm, tn, tk)


@ct.kernel
def split_k(A, B, C, splits: Const, tm: Const, tn: Const, tk: Const):
    """C += A @ B; block (i, j, s) sums every tile of K of a range, and adds the sum to C."""
    i, j, split = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = part_of_product(A, B, i, j, split, splits, tm, tn, tk)
    added_to_tile(C, i, j, acc, tm, tn)


@ct.kernel
def split_k_by_view(A, B, C, splits: Const, tm: Const, tn: Const, tk: Const):
    """As split_k; TMA adds the tile to that of a view."""
    i, j, split = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = part_of_product(A, B, i, j, split, splits, tm, tn, tk)
    C.tiled_view((tm, tn)).atomic_store_add((i, j), acc)


@ct.kernel
def split_k_in_turn(A, B, C, Turn, splits: Const, tm: Const, tn: Const, tk: Const):
    """As split_k with loads and stores of C: Turn[i, j] is the number of the block that may add next."""
    i, j, split = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = part_of_product(A, B, i, j, split, splits, tm, tn, tk)
    while ct.load(Turn, index=(i, j), shape=(1, 1), memory_order=ACQUIRE, memory_scope=DEVICE).item() != split:
        pass
    ct.store(C, index=(i, j), tile=ct.load(C, index=(i, j), shape=(tm, tn), padding_mode=ZERO) + acc)
    ct.atomic_add(Turn, (i, j), 1, memory_order=RELEASE)


@ct.kernel
def stream_k(A, B, C, each: Const, tm: Const, tn: Const, tk: Const):
    """C += A @ B; a block does `each` steps of K, which may begin in the middle of one tile of C and end in another."""
    columns, steps = ct.num_tiles(B, axis=1, shape=(tk, tn)), ct.num_tiles(A, axis=1, shape=(tm, tk))
    first = ct.bid(0) * each
    end = min(first + each, ct.num_tiles(A, axis=0, shape=(tm, tk)) * columns * steps)
    for tile in range(first // steps, ct.cdiv(end, steps)):
        i, j, start = tile // columns, tile % columns, tile * steps
        acc = sum_of_steps(A, B, i, j, max(first - start, 0), min(end - start, steps), tm, tn, tk)
        added_to_tile(C, i, j, acc, tm, tn)


@ct.kernel
def experts_added(X, W, Pair, Expert, Weight, Y, choices: Const, tm: Const, tn: Const, tk: Const):
    """Y[t] += Weight[p] * X[t] @ W[e] for the pairs p of a token t = p // choices and an expert e; pair -1 is none."""
    i, j = ct.bid(0), ct.bid(1)
    pairs = ct.load(Pair, index=(i,), shape=(tm,))
    expert = ct.load(Expert, index=(i,), shape=())
    tokens = pairs // choices
    acc = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
        a = ct.load_advanced_indexing(X, (tokens, ct.Slice(k * tk, tk)), padding_mode=ZERO)
        b = ct.load(W, index=(expert, k, j), shape=(1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(a, b, acc)
    column = j * tn + ct.arange(tn, dtype=ct.int32)
    at = (tokens.reshape((tm, 1)), column.reshape((1, tn)))
    ct.atomic_add(Y, at, acc * ct.gather(Weight, pairs).reshape((tm, 1)), memory_order=RELAXED)


@ct.kernel
def layer_norm_backward(X, W, Mean, Scale, DY, DX, DW, DB, rows: Const, size: Const):
    """The gradients of (X - Mean) * Scale * W + B, where Scale is 1 / the standard deviation of a row of X."""
    i, width = ct.bid(0), X.shape[1]
    x = ct.load(X, index=(i, 0), shape=(rows, size), padding_mode=ZERO)
    dy = ct.load(DY, index=(i, 0), shape=(rows, size), padding_mode=ZERO)
    weight = ct.load(W, index=(0,), shape=(size,), padding_mode=ZERO).reshape((1, size))
    mean = ct.load(Mean, index=(i,), shape=(rows,), padding_mode=ZERO).reshape((rows, 1))
    scale = ct.load(Scale, index=(i,), shape=(rows,), padding_mode=ZERO).reshape((rows, 1))
    normal, weighted = (x - mean) * scale, dy * weight
    projection = ct.sum(normal * weighted, axis=1, keepdims=True) / width
    average = ct.sum(weighted, axis=1, keepdims=True) / width
    ct.store(DX, index=(i, 0), tile=(weighted - normal * projection - average) * scale)
    column = ct.arange(size, dtype=ct.int32)
    ct.atomic_add(DW, column, ct.sum(dy * normal, axis=0), memory_order=RELAXED)
    ct.atomic_add(DB, column, ct.sum(dy, axis=0), memory_order=RELAXED)


@ct.kernel
def layer_norm_gradient(DY, Normal, DW, DB, rows: Const, width: Const):
    """DW += the column sums of DY * Normal, DB += those of DY; each block has some rows of one range of columns."""
    i, j = ct.bid(0), ct.bid(1)
    dy = ct.load(DY, index=(i, j), shape=(rows, width), padding_mode=ZERO)
    normal = ct.load(Normal, index=(i, j), shape=(rows, width), padding_mode=ZERO)
    column = j * width + ct.arange(width, dtype=ct.int32)
    ct.atomic_add(DW, column, ct.sum(dy * normal, axis=0), memory_order=RELAXED)
    ct.atomic_add(DB, column, ct.sum(dy, axis=0), memory_order=RELAXED)


@ct.kernel
def layer_norm_gradient_locked(DY, Normal, DW, DB, Lock, rows: Const, width: Const):
    """As layer_norm_gradient, with loads and stores under a lock per range of columns."""
    i, j = ct.bid(0), ct.bid(1)
    dy = ct.load(DY, index=(i, j), shape=(rows, width), padding_mode=ZERO)
    normal = ct.load(Normal, index=(i, j), shape=(rows, width), padding_mode=ZERO)
    dw, db = ct.sum(dy * normal, axis=0), ct.sum(dy, axis=0)
    while ct.atomic_cas(Lock, j, 0, 1, memory_order=ACQUIRE) != 0:
        pass
    ct.store(DW, index=(j,), tile=ct.load(DW, index=(j,), shape=(width,)) + dw)
    ct.store(DB, index=(j,), tile=ct.load(DB, index=(j,), shape=(width,)) + db)
    ct.atomic_xchg(Lock, j, 0, memory_order=RELEASE)
