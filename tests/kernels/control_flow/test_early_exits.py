"""Early exits: each operation is compiled once, and the interpreter, the simulator and Python agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct

WIDTH = 32


def sequential_exits(count: int, path: Path) -> Any:
    """A kernel with a loop of `count` statements, each with two branches that may continue to the next statement."""
    lines = [
        "def kernel(x, out, trips):",
        f"    total, part = ct.full(({WIDTH},), 0, ct.int32), ct.int32(0)",
        "    for i in range(trips):",
        "        v = ct.load(x, (i,), ())",
        "        w = v * 3 + i",
    ]
    for k in range(count):
        lines += [
            f"        if v % {k + 2} == 0:",
            f"            w = w + {k + 1}",
            "            total = total + w",
            "        else:",
            f"            if w % {k + 5} == 1:",
            "                part += 1",
            "                continue",
            "            part += w",
        ]
    lines += [
        f"        total = total + ct.arange({WIDTH}, dtype=ct.int32) * w",
        "    ct.store(out, (0,), total + part)",
    ]
    path.write_text("\n".join([*lines, ""]))
    scope: dict[str, Any] = {"ct": ct}
    exec(compile(path.read_text(), path, "exec"), scope)
    return ct.kernel(scope["kernel"])


def expected_of_sequential_exits(count: int, x: np.ndarray) -> np.ndarray:
    total, part = np.zeros(WIDTH, np.int64), 0
    for i, v in enumerate(map(int, x)):
        w = v * 3 + i
        for k in range(count):
            if v % (k + 2) == 0:
                w += k + 1
                total = total + w
            elif w % (k + 5) == 1:
                part += 1
                break
            else:
                part += w
        else:
            total = total + np.arange(WIDTH) * w
    return (total + part).astype(np.int32)


@pytest.mark.parametrize("count", [1, 4, 16])
def test_sequential_exits(count: int, target: str, tmp_path: Path) -> None:
    x = np.random.default_rng(count).integers(0, 10_000, 40).astype(np.int32)
    kernel = sequential_exits(count, tmp_path / "kernel.py")
    arguments = [x, np.zeros(WIDTH, np.int32), len(x)]
    for (out,) in run_everywhere(kernel, (1,), arguments, (1,), target=target, hints={}):
        np.testing.assert_array_equal(out, expected_of_sequential_exits(count, x))


def instructions(ptx: str) -> int:
    return sum(line.rstrip().endswith(";") for line in ptx.splitlines())


def test_each_exit_adds_the_same_number_of_instructions(target: str, tmp_path: Path) -> None:
    sizes = {}
    for count in (4, 8, 16):
        kernel = sequential_exits(count, tmp_path / f"kernel{count}.py")
        signature = "x: i32[?], out: i32[?], trips: i32"
        sizes[count] = instructions(tilec.compile(kernel, signature=signature, target=target, stop="ptx").ptx)
    # Divisions by a power of two and by other numbers have different instructions.
    assert sizes[16] - sizes[8] == pytest.approx(2 * (sizes[8] - sizes[4]), rel=0.1)


@ct.kernel
def nested_breaks(out, n: int):
    """Both branches of an `if` in the inner loop, and in the outer one, may break."""
    block = ct.bid(0)
    total, steps = ct.int32(0), ct.int32(0)
    for i in range(n):
        inner = ct.full((4,), 1, ct.int32)
        for j in range(2 * n):
            if (i + j) % 2 == block % 2:
                total += j
                if total > 40 + block:
                    break
                inner = inner * 3
            else:
                if j > 5:
                    total -= 2
                    break
                inner = inner + i
            steps += 1
        if i % 2 == 0:
            if total > 60:
                break
            total += ct.sum(inner)
        else:
            total += 1
            if steps > 30:
                total += 1000
                break
        steps += 100
    ct.store(out, (block, 0), total)
    ct.store(out, (block, 1), steps)


def python_nested_breaks(block: int, n: int) -> tuple[int, int]:
    total, steps = 0, 0
    for i in range(n):
        inner = 1
        for j in range(2 * n):
            if (i + j) % 2 == block % 2:
                total += j
                if total > 40 + block:
                    break
                inner *= 3
            else:
                if j > 5:
                    total -= 2
                    break
                inner += i
            steps += 1
        if i % 2 == 0:
            if total > 60:
                break
            total += 4 * inner
        else:
            total += 1
            if steps > 30:
                total += 1000
                break
        steps += 100
    return total, steps


@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_nested_loops_with_breaks_in_both_branches(target: str, n: int) -> None:
    blocks = 8
    expected = np.array([python_nested_breaks(block, n) for block in range(blocks)], np.int64).astype(np.int32)
    for (out,) in run_everywhere(
        nested_breaks, (blocks,), (np.zeros((blocks, 2), np.int32), n), (0,), target=target, hints={}
    ):
        np.testing.assert_array_equal(out, expected)


@ct.kernel
def returns_in_nested_branches(x, out):
    block = ct.bid(0)
    tile = ct.load(x, (block, 0), (1, WIDTH))
    scale = ct.int32(1)
    if block % 2 == 0:
        if block % 3 == 0:
            if block == 6:
                return
            tile = tile + 1
        else:
            scale = 2
    else:
        scale = 3
        if block > 8:
            if block == 11:
                ct.store(out, (block, 0), tile)
                return
            tile = tile * 2
            if block == 9:
                return
    tile = tile * scale
    if block % 5 == 0:
        tile = tile - 7
    else:
        if block == 7:
            ct.store(out, (block, 0), -tile)
            return
        scale = scale + 1
    ct.store(out, (block, 0), tile + scale)


def python_returns(block: int, tile: np.ndarray) -> np.ndarray:
    nothing, scale = np.zeros_like(tile), 1
    if block % 2 == 0:
        if block % 3 == 0:
            if block == 6:
                return nothing
            tile = tile + 1
        else:
            scale = 2
    else:
        scale = 3
        if block > 8:
            if block == 11:
                return tile
            tile = tile * 2
            if block == 9:
                return nothing
    tile = tile * scale
    if block % 5 == 0:
        tile = tile - 7
    else:
        if block == 7:
            return -tile
        scale += 1
    return tile + scale


def test_returns_in_nested_branches(target: str) -> None:
    blocks = 14
    x = np.random.default_rng(3).integers(-99, 99, (blocks, WIDTH)).astype(np.int32)
    expected = np.stack([python_returns(block, row) for block, row in enumerate(x)])
    for (out,) in run_everywhere(
        returns_in_nested_branches, (blocks,), (x, np.zeros_like(x)), (1,), target=target, hints={}
    ):
        np.testing.assert_array_equal(out, expected)


@ct.kernel
def returns_in_loops(x, out):
    """A `return` in two nested loops and in a branch between them; each path stores other values."""
    block = ct.bid(0)
    row = ct.full((1, WIDTH), 0, ct.int32)
    step = ct.int32(0)
    while step < 5:
        row = row + ct.load(x, (step, 0), (1, WIDTH))
        part = ct.int32(0)
        for j in range(step + 1):
            part += j * block
            if part > 20:
                ct.store(out, (block, 0), row * 100 + j)
                return
            elif part == 7:
                break
        if part % 4 == 3:
            if step == 2:
                ct.store(out, (block, 0), row - part)
                return
        else:
            if part == 12:
                break
            row = row + part
        step += 1
    ct.store(out, (block, 0), row + 1000 * step)


def python_returns_in_loops(block: int, x: np.ndarray) -> np.ndarray:
    row, step = np.zeros(WIDTH, np.int64), 0
    while step < 5:
        row = row + x[step]
        part = 0
        for j in range(step + 1):
            part += j * block
            if part > 20:
                return row * 100 + j
            if part == 7:
                break
        if part % 4 == 3:
            if step == 2:
                return row - part
        else:
            if part == 12:
                break
            row = row + part
        step += 1
    return row + 1000 * step


def test_returns_in_loops(target: str) -> None:
    blocks = 12
    x = np.random.default_rng(4).integers(-99, 99, (5, WIDTH)).astype(np.int32)
    expected = np.stack([python_returns_in_loops(block, x) for block in range(blocks)])
    arguments = (x, np.zeros((blocks, WIDTH), np.int32))
    for (out,) in run_everywhere(returns_in_loops, (blocks,), arguments, (1,), target=target, hints={}):
        np.testing.assert_array_equal(out, expected)


SIZE = 64
STEPS = 6


@ct.kernel
def products_between_exits(a, b, kinds, out, rows: ct.Constant[int]):
    """Multiplies before, inside and below statements whose branches may leave, with the accumulator in each."""
    first = ct.full((rows, SIZE), 0, ct.float32)
    for k in range(STEPS):
        first = ct.mma(ct.load(a, (0, k), (rows, SIZE)), ct.load(b, (k, 0), (SIZE, SIZE)), first)
    acc = first
    for k in range(STEPS):
        kind = ct.load(kinds, (k,), ())
        weight = ct.float32(1)
        if kind < 2:
            acc = ct.mma(ct.load(a, (0, k), (rows, SIZE)), ct.load(b, (k, 0), (SIZE, SIZE)), acc)
            if kind == 0:
                continue
        else:
            weight = 2.0
            if kind == 2:
                acc = acc - first
                continue
        acc = ct.mma(ct.load(a, (0, k), (rows, SIZE)), ct.load(b, (k, 0), (SIZE, SIZE)), acc * weight)
    if ct.load(kinds, (0,), ()) == 1:
        acc = acc + 1
        if ct.load(kinds, (1,), ()) == 1:
            ct.store(out, (0, 0), acc)
            return
    last = ct.full((rows, SIZE), 0, ct.float32)
    for k in range(STEPS):
        last = ct.mma(ct.load(a, (0, k), (rows, SIZE)), ct.load(b, (k, 0), (SIZE, SIZE)), last)
    ct.store(out, (0, 0), acc - last)


def numpy_products(a: np.ndarray, b: np.ndarray, kinds: list[int]) -> np.ndarray:
    products = [a[:, k * SIZE : (k + 1) * SIZE] @ b[k * SIZE : (k + 1) * SIZE] for k in range(STEPS)]
    first = sum(products)
    acc = first
    for product, kind in zip(products, kinds, strict=True):
        if kind < 2:
            acc = acc + product
            if kind == 0:
                continue
        elif kind == 2:
            acc = acc - first
            continue
        else:
            acc = acc * 2
        acc = acc + product
    if kinds[0] == 1:
        acc = acc + 1
        if kinds[1] == 1:
            return acc
    return acc - first


@pytest.mark.covering
@pytest.mark.parametrize(
    ("kinds", "rows"),
    [((0, 1, 2, 3, 1, 0), 64), ((3, 3, 2, 0, 1, 2), 128), ((1, 1, 3, 2, 0, 3), 128), ((1, 2, 0, 3, 1, 1), 64)],
    ids=str,
)
def test_accumulators_live_across_exits(
    target: str, switches: dict[str, bool], kinds: tuple[int, ...], rows: int
) -> None:
    random = np.random.default_rng(sum(kinds))
    a = random.integers(-2, 3, (rows, STEPS * SIZE)).astype(np.float16)
    b = random.integers(-2, 3, (STEPS * SIZE, SIZE)).astype(np.float16)
    # All sums are integers below 2^24, which float32 has.
    expected = numpy_products(a.astype(np.float64), b.astype(np.float64), list(kinds))
    assert np.abs(expected).max() < 2**24
    arguments = [a, b, np.array(kinds, np.int32), np.zeros((rows, SIZE), np.float32), rows]
    for (out,) in run_everywhere(
        products_between_exits, (1,), arguments, (3,), target=target, hints=switches, interpret=target == "sm_90a"
    ):
        np.testing.assert_array_equal(out, expected)


@ct.kernel
def sum_stored_before_break(a, b, out, steps: int, copies: int):
    """The branch that leaves the loop over K stores the accumulator, in a loop of its own."""
    acc = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(100):
        if k == steps:
            for copy in range(copies):
                ct.store(out, (copy, 0), acc)
            break
        acc = ct.mma(ct.load(a, (0, k), (SIZE, SIZE)), ct.load(b, (k, 0), (SIZE, SIZE)), acc)


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_accumulators_are_read_in_a_branch_that_leaves(target: str, steps: int) -> None:
    random = np.random.default_rng(steps)
    a = random.integers(-2, 3, (SIZE, 4 * SIZE)).astype(np.float16)
    b = random.integers(-2, 3, (4 * SIZE, SIZE)).astype(np.float16)
    expected = a[:, : steps * SIZE].astype(np.float32) @ b[: steps * SIZE].astype(np.float32)
    for options in ({"backend": "interpret"}, {"backend": "simulate", "target": target}):
        out = np.full((2 * SIZE, SIZE), -1, np.float32)
        ct.launch(None, (1,), sum_stored_before_break, (a, b, out, steps, 2), **options)
        assert np.array_equal(out, np.concatenate([expected, expected]))


@ct.kernel
def products_around_a_return(x, a, y, selected: int):
    """Sums in tensor memory, which no thread may read where the block has returned."""
    ones = ct.full((16, 32), 1, ct.float16)
    total, factor = ct.load(x, (0, 0), (64, 32)), ct.load(a, (0, 0), (64, 16))
    if selected == 0:
        total = total + 1
    else:
        if selected == 1:
            return
        total = ct.mma(factor, ones, total)
    ct.store(y, (0, 0), total)
    ct.store(y, (1, 0), ct.mma(factor, ones, total))


@ct.kernel
def products_around_a_loop_with_a_return(x, a, y, selected: int):
    ones = ct.full((16, 32), 1, ct.float16)
    total, factor = ct.load(x, (0, 0), (64, 32)), ct.load(a, (0, 0), (64, 16))
    for i in range(selected):
        if i == 2:
            return
        total = ct.mma(factor, ones, total)
    ct.store(y, (0, 0), total)
    ct.store(y, (1, 0), ct.mma(factor, ones, total))


@pytest.mark.parametrize("selected", range(4))
@pytest.mark.parametrize("kernel", [products_around_a_return, products_around_a_loop_with_a_return])
def test_sums_behind_a_return_are_not_read(kernel: Any, selected: int, target: str) -> None:
    random = np.random.default_rng(selected)
    x, a = random.integers(-4, 5, (64, 32)).astype(np.float32), random.integers(-4, 5, (64, 16)).astype(np.float16)
    product, expected = a.astype(np.float32).sum(1, keepdims=True), np.zeros((128, 32), np.float32)
    if kernel is products_around_a_return and selected != 1:
        total = x + (1 if selected == 0 else product)
        expected = np.concatenate([total, total + product])
    if kernel is products_around_a_loop_with_a_return and selected < 3:
        expected = np.concatenate([x + selected * product, x + (selected + 1) * product])
    arguments = [x, a, np.zeros_like(expected), selected]
    for (found,) in run_everywhere(kernel, (1,), arguments, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected)
