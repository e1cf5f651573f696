"""Kernels whose accumulators are used by multiplies and by other arithmetic, through loops and branches."""

import tilec as ct

Const = ct.Constant[int]


@ct.function
def step(A, B, k, total, depth: Const):
    """total + one step of A @ B along K."""
    a, b = ct.load(A, (0, k), (total.shape[0], depth)), ct.load(B, (k, 0), (depth, total.shape[1]))
    return ct.mma(a, b, total)


@ct.kernel
def scaled(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """The sum is multiplied by -1 before each step."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        total = step(A, B, k, total * -1.0, depth)
    ct.store(C, (0, 0), total)


@ct.kernel
def scaled_sometimes(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """The sum is multiplied by -1 before every second step."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        if k % 2 == 1:
            total = total * -1.0
        total = step(A, B, k, total, depth)
    ct.store(C, (0, 0), total)


@ct.kernel
def added_sometimes(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Every second step is left out."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        if k % 2 == 0:
            total = step(A, B, k, total, depth)
    ct.store(C, (0, 0), total)


@ct.kernel
def stored_each_time(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """The sum is stored after each step, and once more after the loop."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        total = step(A, B, k, total, depth)
        ct.store(C, (k + 1, 0), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def until_bound(A, B, C, N, rows: Const, columns: Const, depth: Const):
    """The number of steps is in memory; the loop ends by break."""
    total = ct.zeros((rows, columns), ct.float32)
    k = 0
    while True:
        if k >= ct.load(N, (0,), (1,)).item():
            break
        total = step(A, B, k, total, depth)
        k = k + 1
    ct.store(C, (0, 0), total)


@ct.kernel
def two_at_once(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Each sum is the other's start in the next iteration, so both are alive."""
    first = ct.zeros((rows, columns), ct.float32)
    second = ct.ones((rows, columns), ct.float32)
    for k in range(steps):
        first, second = step(A, B, k, second, depth), first
    ct.store(C, (0, 0), first)
    ct.store(C, (1, 0), second)


@ct.kernel
def one_after_the_other(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Two steps in a row and a loop in a loop; the start is loaded from C."""
    total = ct.load(C, (0, 0), (rows, columns))
    for _ in range(2):
        total = step(A, B, 0, step(A, B, 1, total, depth), depth)
        for k in range(steps):
            total = step(A, B, k, total, depth)
        total = ct.maximum(total, -100.0)
    ct.store(C, (0, 0), total)


@ct.kernel
def many_tiles(A, B, C, tiles: int, steps: int, rows: Const, columns: Const, depth: Const):
    """A loop over tiles: each starts at zero, and changes its sum before each step."""
    for i in range(tiles):
        total = ct.zeros((rows, columns), ct.float32)
        for k in range(steps - i):
            total = step(A, B, k, total + 1.0, depth)
        ct.store(C, (i, 0), total)


@ct.kernel
def after_inner_loops(A, B, C, tiles: int, steps: int, rows: Const, columns: Const, depth: Const):
    """In each tile, the operands of the last multiply are loaded after those of loops, which fill a ring many times."""
    for i in range(tiles):
        for _ in range(2):
            total = ct.zeros((rows, columns), ct.float32)
            for k in range(steps):
                total = step(A, B, k, total, depth)
            ct.store(C, (2 * i, 0), total)
        ct.store(C, (2 * i + 1, 0), step(A, B, i, ct.zeros((rows, columns), ct.float32), depth))


@ct.kernel
def counted(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """A loop of the form `while`, and a block that returns before it."""
    if ct.bid(0) > 0:
        return
    total = ct.zeros((rows, columns), ct.float32)
    k = 0
    while k < steps:
        total = step(A, B, k, total, depth)
        k = k + 1
    ct.store(C, (0, 0), total)


@ct.kernel
def left_between_load_and_use(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Tiles are loaded in each iteration, and the loop is left before the last are used."""
    total = ct.zeros((rows, columns), ct.float32)
    k = 0
    while True:
        a, b = ct.load(A, (0, k), (rows, depth)), ct.load(B, (k, 0), (depth, columns))
        if k == steps:
            break
        total = ct.mma(a, b, total)
        k = k + 1
    ct.store(C, (0, 0), total)


@ct.kernel
def skipped(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """Tiles are loaded in each iteration, and the third is not used."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        a, b = ct.load(A, (0, k), (rows, depth)), ct.load(B, (k, 0), (depth, columns))
        if k == 2:
            continue
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def told_apart(A, B, C, steps: int, rows: Const, columns: Const, depth: Const):
    """A branch on the condition of the loop: it stores the second tile if the loop has zero iterations."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        total = step(A, B, k, total, depth)
    if steps > 0:
        pass
    else:
        ct.store(C, (1, 0), ct.full((rows, columns), 7.0, ct.float32))
    ct.store(C, (0, 0), total)


@ct.kernel
def of_itself(A, B, C, steps: int, rows: Const, columns: Const, depth: Const, is_left: ct.Constant[bool]):
    """The sums, rounded, are an operand of the multiply that adds to them: x + x y y, as in a series of powers."""
    y = ct.load(B, (0, 0), (depth, columns))
    total = ct.mma(ct.load(A, (0, 0), (rows, depth)), y, ct.zeros((rows, columns), ct.float32))
    for _ in range(steps):
        total = ct.mma(total.astype(A.dtype), y, total) if is_left else ct.mma(y, total.astype(A.dtype), total)
        total = ct.mma(y, total.astype(A.dtype), total)
    ct.store(C, (0, 0), total)
