"""Operands that a role of its own copies to shared memory, and loads that cannot be copies."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere
from gathered_rows import COLUMNS, DEPTH, ROWS, blocks_of_depth, every_third, matrices

import tilec as ct
from tilec.errors import SimulationError
from tilec.lowering.gpu.passes import HEURISTICS, PASSES, table_of
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
SEEDS = range(3)
COPY = r"cp\.async\.c[ag]\.shared::cta\.global \[[^\]]*\], \[[^\]]*\], (\d+)"


@ct.kernel
def gathered(A, B, R):
    """R = A @ B, with the rows of A gathered."""
    rows = ct.arange(ROWS, dtype=ct.int32)[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), R.dtype)
    for k in range(ct.cdiv(A.shape[1], DEPTH)):
        b = ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.gather(A, (rows, columns + DEPTH * k)), b, total)
    ct.store(R, (0, 0), total)


@ct.kernel
def unchecked(A, B, R):
    """R = A @ B, with the rows of A gathered without a mask."""
    rows = ct.arange(ROWS, dtype=ct.int32)[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows, columns + DEPTH * k), check_bounds=False)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def chosen(A, B, order, R):
    """R = A[order] @ B; rows that A does not have are zero. A block has ROWS of the rows."""
    block = ct.bid(0)
    rows = ct.gather(order, block * ROWS + ct.arange(ROWS, dtype=ct.int32))
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, ((rows // 2)[:, None], columns + DEPTH * k))
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (block, 0), total)


@ct.kernel
def shuffled(A, B, order, R, steps: ct.Constant[int]):
    """R = A[rows] @ B, with rows computed from the order in steps, each of which uses the one before it twice."""
    rows, columns = ct.gather(order, ct.arange(ROWS, dtype=ct.int32)), ct.arange(DEPTH, dtype=ct.int32)[None, :]
    for _ in ct.static_iter(range(steps)):
        rows = rows ^ (rows >> 1)
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows[:, None], columns + DEPTH * k))
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def both(A, B, R):
    """R = A @ B.T, with the rows of both gathered."""
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.cdiv(A.shape[1], DEPTH)):
        a = ct.gather(A, (ct.arange(ROWS, dtype=ct.int32)[:, None], columns + DEPTH * k))
        b = ct.gather(B, (ct.arange(COLUMNS, dtype=ct.int32)[:, None], columns + DEPTH * k))
        total = ct.mma(a, ct.transpose(b), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def persistent(A, B, R):
    """R = A @ B, in blocks that compute several tiles of rows."""
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    for tile in range(ct.bid(0), ct.num_tiles(R, 0, (ROWS, COLUMNS)), ct.num_blocks(0)):
        rows = (tile * ROWS + ct.arange(ROWS, dtype=ct.int32))[:, None]
        total = ct.zeros((ROWS, COLUMNS), ct.float32)
        for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
            total = ct.mma(ct.gather(A, (rows, columns + DEPTH * k)), ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
        ct.store(R, (tile, 0), total)


@ct.kernel
def unaligned(A, B, R):
    """R = A @ B, with rows of A that TMA cannot load."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(A, 1, (ROWS, DEPTH))):
        a = ct.load(A, (0, k), (ROWS, DEPTH), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def batch(A, B, R):
    """R[i] = A[i] @ B, with rows of A that TMA cannot load."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(A, 2, (1, ROWS, DEPTH))):
        a = ct.load(A, (ct.bid(0), 0, k), (1, ROWS, DEPTH), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.reshape(a, (ROWS, DEPTH)), b, total)
    ct.store(R, (ct.bid(0), 0, 0), ct.reshape(total, (1, ROWS, COLUMNS)))


@ct.kernel
def neighbours(A, B, R):
    """R = A @ B; adjacent blocks have the same columns of B, and gather other rows of A."""
    rows = (ct.bid(0) * ROWS + ct.arange(ROWS, dtype=ct.int32))[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows, columns + DEPTH * k))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (DEPTH, COLUMNS)), total)
    ct.store(R, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def small(A, B, R):
    """R = A @ B, in a tile of 64x16 with 16 columns of A at a time."""
    rows, columns = ct.arange(64, dtype=ct.int32)[:, None], ct.arange(16, dtype=ct.int32)[None, :]
    total = ct.zeros((64, 16), ct.float32)
    for k in range(ct.num_tiles(B, 0, (16, 16))):
        total = ct.mma(ct.gather(A, (rows, columns + 16 * k)), ct.load(B, (k, 0), (16, 16)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def padded(A, B, R):
    """R = A @ B, with ones for the elements that A does not have."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows, columns + DEPTH * k), padding_value=1)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def summed(A, B, R):
    """R = A @ B plus the sum of each row of A."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total, sums = ct.zeros((ROWS, COLUMNS), ct.float32), ct.zeros((ROWS, 1), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows, columns + DEPTH * k))
        sums = sums + ct.sum(a.astype(ct.float32), axis=1, keepdims=True)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total + sums)


@ct.kernel
def doubled(A, B, R):
    """R = 2 * A @ B."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        a = ct.gather(A, (rows, columns + DEPTH * k)) * 2
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def written(A, B, R):
    """R = A @ B, with A written by the kernel itself."""
    rows, columns = ct.arange(ROWS, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(B, 0, (DEPTH, COLUMNS))):
        ct.scatter(A, (rows, columns + DEPTH * k), ct.full((ROWS, DEPTH), k + 1, A.dtype))
        a = ct.gather(A, (rows, columns + DEPTH * k))
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS)), total)
    ct.store(R, (0, 0), total)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A.astype(np.float64) @ B.astype(np.float64)


def run(kernel: Any, args: Any, target: str, output: int = 2, grid: int = 1, **hints: Any) -> list[np.ndarray]:
    made = run_everywhere(kernel, (grid,), args, (output,), target=target, hints=hints, seeds=SEEDS)
    return [found for (found,) in made]


def assert_all(found: list[np.ndarray], exact: np.ndarray) -> None:
    for each in found:
        np.testing.assert_array_equal(each, exact)


def compiled(kernel: Any, args: Any, target: str, **hints: Any) -> Any:
    return ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=hints)


def simulated(artifact: Any, args: Any, seed: int) -> np.ndarray:
    A, B, R = args
    found = R.copy()
    ct.run(artifact, (1,), (A, B, found), backend="simulate", seed=seed)
    return found


def copy_sizes(kernel: Any, args: Any, target: str) -> set[str]:
    """The bytes of the copies of a kernel; none if threads load all that TMA does not."""
    return set(re.findall(COPY, compiled(kernel, args, target).ptx))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [8, 64, 72, 128, 192, 328, 640])
def test_rows_are_copied(depth: int, target: str) -> None:
    args = matrices(depth, np.float16)
    assert copy_sizes(gathered, args, target) == {"16"}
    assert_all(run(gathered, args, target), product(*args[:2]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [64, 192, 576])
def test_rows_without_a_mask(depth: int, target: str) -> None:
    args = matrices(depth, np.float16)
    assert copy_sizes(unchecked, args, target) == {"16"}
    assert_all(run(unchecked, args, target), product(*args[:2]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 3])
def test_numbers_of_rows_from_memory(blocks: int, target: str) -> None:
    """The role that copies loads the numbers of its rows itself; row -1 is zero."""
    A, B, _ = matrices(256, np.float16)
    order = np.random.default_rng(0).integers(-2, 2 * ROWS, blocks * ROWS).astype(np.int32)
    args = A, B, order, np.zeros((blocks * ROWS, COLUMNS), np.float32)
    rows = np.where((order >= 0)[:, None], A[order // 2], 0)
    assert copy_sizes(chosen, args, target) == {"16"}
    assert_all(run(chosen, args, target, 3, blocks), product(rows, B))


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_rows_in_many_steps(target: str) -> None:
    """There are 2^400 paths through the operations of the addresses, and each is 800 operations long."""
    (A, B, R), steps = matrices(256, np.float16), 400
    order = rows = np.random.default_rng(0).permutation(ROWS).astype(np.int32)
    for _ in range(steps):
        rows = rows ^ (rows >> 1)
    made = compiled(shuffled, (A, B, order, R, steps), target)
    assert set(re.findall(COPY, made.ptx)) == {"16"}
    for seed in SEEDS:
        ct.run(made.artifact, (1,), (A, B, order, R), backend="simulate", seed=seed)
        np.testing.assert_array_equal(R, product(A[rows], B))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [64, 136, 320])
def test_both_operands_are_copied(depth: int, target: str) -> None:
    A, B, R = matrices(depth, np.float16)
    args = A, np.ascontiguousarray(B.T), R
    text = compiled(both, args, target).gpu
    assert text.count("producer copies") == 2
    assert "load warps" not in text
    assert_all(run(both, args, target), product(A, B))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("first", "end"), [(0, 0), (3, 2), (0, 1), (0, 4), (1, 8), (0, 9)])
def test_a_loop_with_a_step(first: int, end: int, target: str) -> None:
    A, B, R = matrices(9 * DEPTH, np.float16)
    used = blocks_of_depth(first, end)
    assert_all(run(every_third, (A, B, R, first, end, 0), target), product(A[:, used], B[used]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_blocks_with_several_tiles(blocks: int, target: str) -> None:
    """The ring is filled with rows of the next tile while one is stored."""
    args = matrices(3 * DEPTH, np.float16, 5 * ROWS // 2)
    assert copy_sizes(persistent, args, target) == {"16"}
    assert_all(run(persistent, args, target, grid=blocks), product(*args[:2]))


def test_a_remark_says_why_one_role_computes_all_tiles() -> None:
    signature = "A: f16[?,?%8], B: f16[?,?%8], R: f32[?,?%4]"
    remarks = ct.compile(persistent, target="sm_90a", signature=signature, stop="ptx").all_remarks
    assert [each.message for each in remarks if each.topic == "roles"] == [
        "multiplies of the next tile wait for the epilogue: threads copy an operand that TMA cannot load"
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("multiple", "depth", "stride"), [(4, 132, 196), (2, 130, 194), (1, 129, 193)])
def test_rows_that_tma_cannot_load(multiple: int, depth: int, stride: int, target: str) -> None:
    """Copies are as wide as the rows are aligned; threads load those of which 2 bytes are."""
    signature = f"A: f16[?,?%{multiple}] strides (?%{multiple},1), B: f16[?,?], R: f32[?,?]"
    made = ct.compile(unaligned, target=target, signature=signature)
    A, B, R = matrices(depth, np.float16)
    whole = np.zeros((ROWS, stride), np.float16)
    whole[:, :depth] = A
    assert set(re.findall(COPY, made.ptx)) == ({str(2 * multiple)} if multiple > 1 else set())
    for seed in SEEDS:
        assert_all([simulated(made.artifact, (whole[:, :depth], B, R), seed)], product(A, B))


@pytest.mark.parametrize("target", TARGETS)
def test_a_tile_of_a_batch(target: str) -> None:
    """A dimension of one element is removed on the way: the copies write to a view of the slot."""
    signature = "A: f16[?,?,?%4] strides (?%4,?%4,1), B: f16[?,?], R: f32[?,?,?]"
    made = ct.compile(batch, target=target, signature=signature)
    assert set(re.findall(COPY, made.ptx)) == {"8"}
    # The rings of the copies and of TMA hide the latency of memory in the same loop.
    (of_b,), (of_a,) = (re.findall(rf"producer {producer} .* wanted (\d)", made.gpu) for producer in ("tma", "copies"))
    assert of_a == of_b >= "3"
    random = np.random.default_rng(0)
    A, B = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((2, ROWS, 132), (132, COLUMNS)))
    R = np.zeros((2, ROWS, COLUMNS), np.float32)
    for seed in SEEDS:
        ct.run(made.artifact, (2,), (A, B, R), backend="simulate", seed=seed)
        np.testing.assert_array_equal(R, product(A, B))


@pytest.mark.parametrize("target", TARGETS)
def test_copies_beside_multicasts(target: str) -> None:
    """On sm_90a adjacent tile blocks load B once; each copies its own rows."""
    A, B, _ = matrices(192, np.float16, 4 * ROWS, 2 * COLUMNS)
    args = A, B, np.zeros((4 * ROWS, 2 * COLUMNS), np.float32)
    signature = Signature.from_arguments(neighbours, args)
    made = ct.compile(neighbours, target=target, signature=signature)
    assert "producer copies" in made.gpu
    for seed in SEEDS:
        R = args[2].copy()
        ct.run(made.artifact, (4, 2), (A, B, R), backend="simulate", seed=seed)
        np.testing.assert_array_equal(R, product(A, B))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [16, 48, 112])
def test_a_tile_with_fewer_vectors_than_threads(depth: int, target: str) -> None:
    A, B, _ = matrices(depth, np.float16, 64, 16)
    args = A, B, np.zeros((64, 16), np.float32)
    assert copy_sizes(small, args, target) == {"16"}
    assert_all(run(small, args, target), product(A, B))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (ml_dtypes.bfloat16, np.float32),
        (ml_dtypes.float8_e4m3fn, np.float32),
        (np.int8, np.int32),
        (np.float32, np.float32),
    ],
)
def test_types_of_elements(dtype: Any, result: Any, target: str) -> None:
    A, B, R = matrices(192, dtype)
    assert_all(run(gathered, (A, B, R.astype(result)), target), product(A, B))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("warps", [4, 8])
def test_any_number_of_warps_multiplies(warps: int, target: str) -> None:
    args = matrices(192, np.float16)
    assert re.search(r"copy warps 4", compiled(gathered, args, target, warps=warps).gpu)
    assert_all(run(gathered, args, target, warps=warps), product(*args[:2]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted({*PASSES, *HEURISTICS} - {"make-channels", "copy-rows"}))
def test_without_another_pass(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(name)
    # No state is given: passes that need expanded loops are left out too.
    monkeypatch.setitem(table, name, dataclasses.replace(table[name], run=lambda *_: None, gives=()))
    args = matrices(328, np.float16)
    made = compiled(gathered, args, target)
    assert "cp.async.cg" in made.ptx
    for seed in SEEDS:
        np.testing.assert_array_equal(simulated(made.artifact, args, seed), product(*args[:2]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (padded, "a copy has no padding but zero"),
        (summed, "other operations use the tile too"),
        (doubled, "its elements are computed on their way"),
        (written, "other accesses of the kernel precede the load or follow it"),
    ],
)
def test_loads_that_are_not_copies(kernel: Any, reason: str, target: str) -> None:
    """Threads load the operand, and a remark says why."""
    A, B, R = matrices(256, np.float16)
    made = compiled(kernel, (A, B, R), target)
    assert not re.search(COPY, made.ptx)
    message = f"threads load the operand and store it in shared memory: {reason}"
    assert message in [remark.message for remark in made.all_remarks]
    exact = product(A, B)
    if kernel is summed:
        exact = exact + A.astype(np.float64).sum(1, keepdims=True)
    elif kernel is doubled:
        exact = 2 * exact
    elif kernel is written:
        exact = product(np.repeat(np.arange(1, 5, dtype=np.float16), DEPTH)[None, :].repeat(ROWS, 0), B)
    assert_all(run(kernel, (A, B, R), target), exact)


@ct.kernel
def wide(A, B, R, tm: ct.Constant[int], tn: ct.Constant[int]):
    """R = A @ B in one tile, with the rows of A gathered."""
    rows, columns = ct.arange(tm, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(A.shape[1], DEPTH)):
        total = ct.mma(ct.gather(A, (rows, columns + DEPTH * k)), ct.load(B, (k, 0), (DEPTH, tn)), total)
    ct.store(R, (0, 0), total)


@pytest.mark.parametrize(
    ("extent", "rows", "columns", "warps", "reason"),
    [
        ("?%8", 128, 256, 8, "a multiply adds to 128 registers of a thread, which has 128 beside a role that copies"),
        ("?%8", 64, 256, 4, None),
        ("?%2", 128, 64, 8, "a thread that copies has registers for 16 pointers: use smaller tiles, or wider rows"),
    ],
)
def test_registers_for_the_role(extent: str, rows: int, columns: int, warps: int, reason: str | None) -> None:
    """Sixteen warps have 128 registers at launch, in which ptxas has no room for the sums of 256 columns."""
    signature = f"A: f16[?,{extent}] strides ({extent},1), B: f16[?,?], R: f32[?,?], tm={rows}, tn={columns}"
    made = ct.compile(wide, target="sm_90a", signature=signature, hints={"warps": warps}, stop="gpu")
    found = [each.message for each in made.all_remarks if each.message.startswith("threads load the operand")]
    assert found == ([] if reason is None else [f"threads load the operand and store it in shared memory: {reason}"])


@ct.kernel
def carried(A, B, R, tm: ct.Constant[int], tn: ct.Constant[int]):
    """R = A @ B in one tile, with the rows of A gathered at columns that the loop carries."""
    rows, columns = ct.arange(tm, dtype=ct.int32)[:, None], ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(A.shape[1], DEPTH)):
        total = ct.mma(ct.gather(A, (rows, columns)), ct.load(B, (k, 0), (DEPTH, tn)), total)
        columns = columns + DEPTH
    ct.store(R, (0, 0), total)


@pytest.mark.parametrize(
    ("kernel", "hints", "reason"),
    [
        (wide, {"num_ctas": 2}, "the tile block is a cluster"),
        (wide, {"warps": 16}, "16 warps compute, and more than 8 leave a role that copies no registers"),
        (
            carried,
            {},
            "its addresses, or loops and branches around it, depend on what threads compute or a loop carries",
        ),
    ],
)
def test_kernels_without_a_role_that_copies(kernel: Any, hints: dict[str, int], reason: str) -> None:
    signature = "A: f16[?,?%8] strides (?%8,1), B: f16[?,?], R: f32[?,?], tm=256, tn=64"
    made = ct.compile(kernel, target="sm_90a", signature=signature, hints=hints, stop="gpu")
    found = [each.message for each in made.all_remarks if each.message.startswith("threads load the operand")]
    assert found == [f"threads load the operand and store it in shared memory: {reason}"]


@pytest.mark.parametrize("target", TARGETS)
def test_the_role_of_its_own_copies_alone(target: str) -> None:
    """Threads that multiply load nothing: they wait for a full slot, and execute one fence."""
    made = compiled(gathered, matrices(256, np.float16), target)
    assert "copy_global" in made.gpu.split("} copy warps 4")[1]
    assert "load_global" not in made.gpu
    assert made.ptx.count("cp.async.mbarrier.arrive.noinc.shared::cta.b64") == 1
    assert len(re.findall(r"bra \$channel\d_wait_full;\n\s+fence\.proxy\.async", made.ptx)) == 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("text", "change", "problem"),
    [
        ("fence.proxy.async.shared::cta;", "", "no fence.proxy.async follows"),
        ("cp.async.mbarrier.arrive.noinc.shared::cta.b64", "mbarrier.arrive.shared::cta.b64 _,", "race"),
    ],
)
def test_mutants_are_detected(text: str, change: str, problem: str, target: str) -> None:
    """Without the fence, or with an arrival that does not wait for the copies, the simulator reports an error."""
    args = matrices(256, np.float16)
    artifact = compiled(gathered, args, target).artifact
    assert text in artifact.ptx
    changed = dataclasses.replace(artifact, ptx=artifact.ptx.replace(text, change))
    for seed in SEEDS:
        with pytest.raises(SimulationError, match=problem):
            simulated(changed, args, seed)
