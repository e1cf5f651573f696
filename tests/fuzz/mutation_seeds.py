"""The kernels whose syntax trees `fuzz.py mutations` changes: together they use every part of the language."""

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

import tilec as ct

Constant = ct.Constant[int]
STEPS = (1, 2, 4)
OPERATORS = {"add": operator.add, "multiply": operator.mul}


class Mode(IntEnum):
    PLAIN = 0
    DOUBLED = 1


@dataclass(frozen=True)
class Window:
    array: ct.Array
    extent: Constant
    mode: Constant = 0

    @property
    def shape(self):
        return (self.extent, 4)

    def read(self, row, *, padding=ct.PaddingMode.ZERO):
        return ct.load(self.array, (row, 0), self.shape, padding_mode=padding)

    def write(self, row, tile):
        ct.store(self.array, (row, 0), tile)


def clamp(tile, low=-8, high=8):
    return ct.minimum(ct.maximum(tile, low), high)


def pair(tile, *, scale=2):
    first, second = tile * scale, tile - scale
    return first, second


def signed(tile, way, *limits, **names):
    if way > 3:
        return tile * names.get("by", 2)
    if way == 1:
        tile = -tile
    elif way < 0:
        return clamp(tile, *limits)
    for step in range(way):
        if step == 2:
            break
        tile = tile + step
    return tile


@contextmanager
def doubled(tile):
    yield tile * 2


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


@ct.kernel
def records(x, mode: Constant, pairs, n: Constant):
    window = Window(x, n, mode=Mode(mode))
    row = ct.bid(0)
    tile = window.read(row)
    (left, right), by = pairs
    other = Window(left if window.mode else right, extent=n)
    if window.mode == Mode.DOUBLED:
        tile = tile * by
    with doubled(tile) as twice:
        tile = twice - tile
    sizes = tuple(step + n for step in ct.static_iter(STEPS) if step != 2)
    tile = OPERATORS["add"](tile, ct.static_eval(sum(sizes))) * ct.static_eval(max(sizes) % 3)
    for position, (step, size) in ct.static_iter(enumerate(zip(STEPS, sizes, strict=False))):
        tile = tile + position * step - size
    window.write(row, tile + other.read(row + 1, padding=ct.PaddingMode.UNDETERMINED))


@ct.kernel
def returns(x, y, way):
    row = ct.bid(0)
    if row >= x.shape[0] // 4:
        return
    offset = 1

    def shifted(tile, by=offset):
        nonlocal_total = tile + by
        return nonlocal_total if way else nonlocal_total * offset

    tile = ct.load(x, (row, 0), (4, 8))
    for step in range(way):
        if step == 5:
            ct.store(y, (row, 0), tile)
            break
        tile, offset = signed(shifted(tile), step, -3, 3, by=4), offset + 1
    tile = signed(tile, way if ct.static_eval(len(STEPS) > 2) else 1)
    ct.store(y, (row, 0), tile)


@ct.kernel
def raw(x, counts, y, n: Constant):
    memory = x.get_raw_memory()
    places = ct.arange(n, dtype=ct.int64) * 2
    tile = memory.load_offset(places, mask=places < n, padding_value=0)
    view = y.tiled_view((1, n))
    view.atomic_store_add((0, 0), tile.reshape((1, n)))
    bins = (tile.astype(ct.int32) & 7) if n > 4 else places.astype(ct.int32)
    old = ct.atomic_cas(counts, bins, 0, 1)
    swapped = ct.atomic_xchg(counts, (bins,), old + 1, check_bounds=True)
    ct.printf("%d", ct.sum(swapped))
    x.get_raw_memory().store_offset(places, swapped.astype(x.dtype), mask=places < n)


@ct.kernel
def scaled(a, b, scale_a, scale_b, c):
    total = ct.zeros((32, 16), ct.float32)
    for k in range(2):
        left, right = ct.load(a, (0, k), (32, 64)), ct.load(b, (k, 0), (64, 16))
        total = ct.mma_scaled(left, ct.load(scale_a, (0, k), (32, 2)), right, ct.load(scale_b, (k, 0), (2, 16)), total)
    high, low = ct.extract(total, (0, 0), (16, 16)), ct.extract(total, (1, 0), (16, 16))
    ct.store(c, (0, 0), high * low + ct.rsqrt(ct.abs(high) + 1, flush_to_zero=True))


SIGNATURES = {
    "elementwise": "x: f16[?], y: f32[?], n=16",
    "product": "a: f16[?,?], b: f16[?,?], c: f32[?,?], tm=32, tn=32, tk=16",
    "branches": "x: f32[?,?], y: f32[?,?], flag: i32",
    "reductions": "x: f32[?,?], y: f32[?,?], n=8",
    "accesses": "x: f32[?,?], indices: i32[?], y: f32[?,?], n=4",
    "static": "x: f32[?], y: i32[?,?], n=8",
    "records": "x: f32[?,?], mode=1, pairs: ((f32[?,?], f32[?,?]), f32), n=4",
    "returns": "x: f32[?,?], y: f32[?,?], way: i32",
    "raw": "x: f32[?], counts: i32[?], y: f32[?,?], n=8",
    "scaled": "a: f8E4M3FN[?,?], b: f8E4M3FN[?,?], scale_a: f8E8M0FNU[?,?], scale_b: f8E8M0FNU[?,?], c: f32[?,?]",
}
