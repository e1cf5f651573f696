"""Kernels whose Python statements and kernel semantics differ most; test_python_run.py executes them both ways."""

import tilec as ct

FACTOR = 3


def halved(tile, times):
    for _ in range(times):
        tile = tile / 2
    return tile


def power(value, exponent: int):
    """A recursive function of a constant."""
    return 1 if exponent == 0 else value * power(value, exponent - 1)


@ct.kernel
def carried_numbers(x, y):
    """Numbers that a loop carries have a type: 10 / 4 is a float32, which float16 tiles become."""
    count = 0
    total = 0.0
    for i in range(4):
        count = count + i * 2
        total = total + 0.1
    tile = ct.load(x, 0, 8).astype(ct.float16)
    ct.store(y, 0, (tile * total + count / 5).astype(ct.float32))


@ct.kernel
def while_and_break(x, y):
    n = ct.load(x, 0, ()).astype(ct.int32)
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 50:
            break
    ct.store(y, 0, ct.full(8, steps, ct.float32))


@ct.kernel
def calls(x, y):
    tile = ct.load(x, 0, 8)
    offset = FACTOR + power(2, 3)

    def scaled(tile, by=FACTOR):
        return tile * by

    add = lambda a, b: a + b  # noqa: E731
    largest = ct.reduce(tile, 0, lambda a, b: ct.maximum(a, b), -1e30)
    shifted, _ = ct.scan((tile, tile), 0, lambda a, b, c, d: (a + c, b + d), (0.0, 0.0))
    ct.store(y, 0, add(scaled(halved(tile, 2)), offset) + largest + shifted)


@ct.kernel
def conditions(x, y):
    """Comparisons in a row, `and`, `or` and `not` of scalars, values chosen by a condition."""
    i = ct.bid(0)
    tile = ct.load(x, 0, 8)
    inside = 1 < tile < 5
    flag = i >= 0 and not i == 3 or i > 100
    step = 2 if flag else 1
    count = 10 if i == 0 else 20
    if 0 <= i < 1 and flag:
        tile = ct.where(inside, tile, -tile)
    ct.store(y, 0, tile / step + count)


@ct.kernel
def tuples(x, y):
    shape = ct.static_eval((2, 2 + 2))
    ct.static_assert(len(shape) == x.ndim + 1, f"two extents, got {shape}")
    first, *rest = shape
    tile = ct.load(x, 0, first * rest[0]).reshape(shape)
    for axis in ct.static_iter(range(2)):
        tile = tile + ct.sum(tile, axis, keepdims=True)
    for extent in ct.static_iter(shape):
        tile = tile * extent
    ct.store(y, 0, tile.reshape((8,)))


@ct.kernel
def integers(x, y):
    """Typed constants wrap, shifts and divisions have their kernel meaning, unsigned counters are unsigned."""
    small = ct.int8(100) + ct.int8(100)
    bits = ct.load(x, 0, 8).astype(ct.uint8)
    total = ct.zeros(8, ct.uint8)
    for i in range(ct.uint8(3)):
        total = (total + (bits << i)) ^ ~bits
    ct.store(y, 0, (total // 3 - 7 % 4).astype(ct.float32) + small)


KERNELS = (carried_numbers, while_and_break, calls, conditions, tuples, integers)
