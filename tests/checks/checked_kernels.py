"""Kernels that are undefined for some arguments; the undefined operation is in the line with the comment `checked`."""

import tilec as ct

Const = ct.Constant[int]


@ct.kernel
def total(X, Y, start, stop, step):
    result = 0.0
    for i in range(start, stop, step):  # checked
        result += ct.load(X, (i,), (1,)).reshape(())
    ct.store(Y, (0,), result)


@ct.kernel
def total_below_1000(X, Y, start, stop, step):
    """A loop with an exit, which has no `for` in Tile IR."""
    result = 0.0
    for i in range(start, stop, step):  # checked
        result += ct.load(X, (i,), (1,)).reshape(())
        if result > 1000.0:
            break
    ct.store(Y, (0,), result)


@ct.kernel
def gathered(X, I, Y, size: Const):  # noqa: E741
    index = ct.load(I, (0,), (size,))
    y = ct.gather(X, index, check_bounds=False)  # checked
    ct.store(Y, (0,), y)


@ct.kernel
def gathered_below(X, I, Y, limit, size: Const):  # noqa: E741
    """Indices that the mask excludes may be outside of the array."""
    index = ct.load(I, (0,), (size,))
    y = ct.gather(X, index, mask=index < limit, padding_value=0.0, check_bounds=False)  # checked
    ct.store(Y, (0,), y)


@ct.kernel
def scattered(I, Y, size: Const):  # noqa: E741
    index = ct.load(I, (0,), (size,))
    ct.scatter(Y, index, 1.0, check_bounds=False)  # checked


@ct.kernel
def counted(I, Y, size: Const):  # noqa: E741
    index = ct.load(I, (0,), (size,))
    ct.atomic_add(Y, index, 1.0, check_bounds=False)  # checked


@ct.kernel
def loaded(X, Y, index, size: Const):
    x = ct.load(X, (index,), (size,), check_bounds=False)  # checked
    ct.store(Y, (0,), x)


@ct.kernel
def divided(X, Y, divisor, size: Const):
    x = ct.load(X, (0,), (size,))
    ct.store(Y, (0,), x // divisor)  # checked


@ct.kernel
def extracted(X, Y, index, size: Const):
    x = ct.load(X, (0,), (2 * size,))
    ct.store(Y, (0,), ct.extract(x, (index,), (size,)))  # checked


@ct.kernel
def product(A, B, C, steps, tm: Const, tn: Const, tk: Const):
    """The number of iterations is an argument, so that it can exceed the tiles along K."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(steps):
        a = ct.load(A, (i, k), (tm, tk))  # checked
        b = ct.load(B, (k, j), (tk, tn))
        acc = ct.mma(a, b, acc)
    ct.store(C, (i, j), acc)


@ct.kernel
def attention(Q, K, V, O, steps, tm: Const, tn: Const, width: Const):  # noqa: E741
    """Two chained multiplies in a loop over `steps` tiles of keys and values."""
    q = ct.load(Q, (ct.bid(0), 0), (tm, width))
    largest, total = ct.full((tm, 1), -1e30, ct.float32), ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(steps):
        k = ct.load(K, (j, 0), (tn, width))  # checked
        v = ct.load(V, (j, 0), (tn, width))
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), ct.float32))
        now_largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p, factor = ct.exp(s - now_largest), ct.exp(largest - now_largest)
        total = total * factor + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(Q.dtype), v, acc * factor)
        largest = now_largest
    ct.store(O, (ct.bid(0), 0), acc / total)


@ct.kernel
def convolution(X, F, Y, taps, tm: Const, tn: Const, tk: Const):
    """A convolution of rows with three taps; the number of taps is an argument."""
    images = ct.im2col_view(X, window=3, padding=((1, 1),), tile=(tm, tk))
    acc = ct.zeros((tm, tn), ct.float32)
    for s in range(taps):
        a = images.load((ct.bid(0), 0), offset=s)  # checked
        f = ct.load(F, (s, 0, 0), (1, tk, tn)).reshape((tk, tn))
        acc = ct.mma(a, f, acc)
    ct.im2col_view(Y, window=1, tile=(tm, tn)).store((ct.bid(0), 0), acc)
