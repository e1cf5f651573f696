"""The kernels whose syntax trees `fuzz.py mutations` changes: together they use every part of the language."""

import tilec as ct

Constant = ct.Constant[int]
STEPS = (1, 2, 4)


def clamp(tile, low=-8, high=8):
    return ct.minimum(ct.maximum(tile, low), high)


def pair(tile, *, scale=2):
    first, second = tile * scale, tile - scale
    return first, second


@ct.kernel
def elementwise(x, y, n: Constant):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (n,), padding_mode=ct.PaddingMode.ZERO)
    first, second = pair(tile, scale=3)
    total = clamp(first, high=4) + ct.exp(second) / 2 - ct.where(tile > 0, tile, -tile)
    ct.store(y, (i,), total.astype(y.dtype))


@ct.kernel
def product(a, b, c, tm: Constant, tn: Constant, tk: Constant):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        left = ct.load(a, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(tk, tn), latency=2, allow_tma=False)
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=ct.astype(total, c.dtype))


@ct.kernel
def branches(x, y, flag):
    i = ct.bid(0)
    value = ct.load(x, (i, 0), (4, 8))
    count = 0
    if flag > 2 and not i == 3:
        value = value + 1
        count += 1
    elif flag < 0 or count:
        value = ct.transpose(value).reshape((4, 8))
    else:
        count = 2
    while count < 10:
        count = count * 2 + 1
        if count == 7:
            continue
        if count > 8:
            break
    ct.store(y, (i, 0), value * count if flag else value)


@ct.kernel
def reductions(x, y, n: Constant):
    tile = ct.load(x, (0, 0), (n, 4))
    largest = ct.max(tile, axis=1, keepdims=True)
    sums = ct.sum(ct.exp(tile - largest), axis=1, keepdims=True)
    product = ct.reduce(tile, 0, lambda a, b: a * b, 1.0, keepdims=True)
    prefix = ct.cumsum(tile, axis=0, reverse=True)
    place = ct.argmax(tile, axis=1, keepdims=True).astype(ct.float32)
    both, _ = ct.scan((tile, prefix), 1, lambda a, b, c, d: (a + c, ct.maximum(b, d)), (0.0, -1e30))
    ct.store(y, (0, 0), sums + product + prefix + place + both)


@ct.kernel
def accesses(x, indices, y, n: Constant):
    rows = ct.arange(n, dtype=ct.int32)
    chosen = ct.load(indices, (0,), (n,))
    found = ct.gather(x, (chosen, rows), check_bounds=True, padding_value=0)
    view = y.tiled_view((2, n), padding_mode=ct.PaddingMode.ZERO)
    part = y.slice(axis=0, start=1, stop=3)
    ct.scatter(part, (rows % 2, rows), found)
    old = ct.atomic_add(y, (rows, chosen), found, memory_order=ct.MemoryOrder.RELAXED)
    view.store((0, 0), view.load((0, 0)) + old.reshape((1, n)))


@ct.kernel
def static(x, y, n: Constant):
    def scaled(tile, by):
        return tile * by

    tile = ct.load(x, (0,), n)
    for step in ct.static_iter(STEPS):
        tile = scaled(tile, step)
    for axis in ct.static_iter(range(2)):
        tile = tile + axis
    ct.static_assert(n % 4 == 0, "a multiple of four")
    shape = (2, n // 2)
    tile = ct.cat((tile.reshape(shape), ct.ones(shape, x.dtype)), 0)
    first, *rest = (1, 2, 3)
    bits = ct.bitcast(tile.astype(ct.float32), ct.int32) >> (first + rest[1]) & 0xFF
    print(f"{first} {bits}", end="")
    ct.store(y, (0, 0), bits.astype(y.dtype))


SIGNATURES = {
    "elementwise": "x: f16[?], y: f32[?], n=16",
    "product": "a: f16[?,?], b: f16[?,?], c: f32[?,?], tm=32, tn=32, tk=16",
    "branches": "x: f32[?,?], y: f32[?,?], flag: i32",
    "reductions": "x: f32[?,?], y: f32[?,?], n=8",
    "accesses": "x: f32[?,?], indices: i32[?], y: f32[?,?], n=4",
    "static": "x: f32[?], y: i32[?,?], n=8",
}
