"""ct.mma_sparse by mma.sp of each warp: tiles that suit neither tcgen05 nor wgmma, interpreted and simulated."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere
from sparse_matrices import KINDS, Const, Kind, dense_matrix, matmul, matmul_of_rows, product, sparse_matrix

import tilec as ct
from tilec.signature import Signature

# The instruction of each type, without the accumulator.
INSTRUCTIONS = {
    "f16": "m16n8k32.row.col.f32.f16.f16.f32",
    "f16 in f16": "m16n8k32.row.col.f16.f16.f16.f16",
    "bf16": "m16n8k32.row.col.f32.bf16.bf16.f32",
    "tf32": "m16n8k16.row.col.f32.tf32.tf32.f32",
    "e4m3": "m16n8k64.row.col.f32.e4m3.e4m3.f32",
    "e5m2": "m16n8k64.row.col.f32.e5m2.e5m2.f32",
    "i8": "m16n8k64.row.col.s32.s8.s8.s32",
    "u8": "m16n8k64.row.col.s32.u8.u8.s32",
}
FORM = "mma.sp::ordered_metadata.sync.aligned."
# Tiles of one warp's rows, of rows and columns divided among warps, of several blocks and several words of metadata.
TILES = [(16, 8, 64), (16, 64, 64), (32, 16, 128), (32, 64, 256)]


def arguments(kind: Kind, shape: Any, kernel: Any = matmul) -> tuple[tuple[Any, ...], np.ndarray]:
    """The arguments for a tile and extents, and the product."""
    (tm, tn, tk), (m, n, depth) = shape
    random = np.random.default_rng(0)
    a = sparse_matrix(random, m, depth, kind)
    b = dense_matrix(random, depth, n, kind) if kernel is matmul else dense_matrix(random, n, depth, kind)
    exact = product(a, b if kernel is matmul else b.T)
    return (*ct.compress_2_4(a), b, np.zeros((m, n), kind.accumulator), tm, tn, tk, kind.word), exact


def compiled(kernel: Any, args: tuple[Any, ...], target: str, **options: Any) -> ct.Compiled:
    signature = Signature.from_arguments(kernel, args)
    return ct.compile(kernel, target=target, signature=signature, stop="ptx", **options)


def check(kind: Kind, shape: Any, target: str, kernel: Any = matmul, **hints: Any) -> None:
    args, exact = arguments(kind, shape, kernel)
    (tm, tn, _), (m, n, _) = shape
    grid = -(-m // tm), -(-n // tn)
    assert FORM in compiled(kernel, args, target, hints=hints).ptx
    for (found,) in run_everywhere(kernel, grid, args, (3,), target=target, hints=hints):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("name", KINDS)
def test_instructions(name: str, target: str) -> None:
    args, _ = arguments(KINDS[name], ((16, 16, 128), (16, 16, 128)))
    found = compiled(matmul, args, target)
    assert FORM + INSTRUCTIONS[name] in found.ptx and "mma.sync.aligned" not in found.ptx
    (message,) = (remark.message for remark in found.all_remarks if remark.topic == "matrix-unit")
    assert message.startswith("the multiply is done by sparse mma.sync: sparse ")


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_tiles(kind: Kind, tile: tuple[int, int, int], target: str) -> None:
    """Three tiles along K."""
    rows, columns, depth = tile
    check(kind, (tile, (2 * rows, columns, 3 * depth)), target)


@pytest.mark.parametrize("tile", TILES[1::2], ids=str)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_right_operands_that_are_contiguous_along_k(kind: Kind, tile: tuple[int, int, int], target: str) -> None:
    rows, columns, depth = tile
    check(kind, (tile, (rows, columns, 2 * depth)), target, matmul_of_rows)


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("tile", [(16, 32, 64), (64, 64, 128)], ids=str)
@pytest.mark.parametrize("name", ["f16", "tf32", "i8"])
def test_numbers_of_warps(name: str, tile: tuple[int, int, int], warps: int) -> None:
    """Warps divide the longer side; those for which nothing is left multiply the same elements."""
    rows, columns, depth = tile
    check(KINDS[name], (tile, (rows, columns, 2 * depth)), "sm_100a", warps=warps)


@pytest.mark.parametrize("warps", [4, 8, 16])
def test_numbers_of_warps_of_8_bit_floats(warps: int, target: str) -> None:
    check(KINDS["e5m2"], ((32, 128, 64), (32, 128, 128)), target, warps=warps)


def test_8_bit_floats_of_64_rows_have_a_dense_operand() -> None:
    """ptxas converts those of mma.sp to f16, with metadata that lanes exchange."""
    args, exact = arguments(KINDS["e4m3"], ((64, 64, 128), (64, 64, 256)))
    found = compiled(matmul, args, "sm_100a")
    reason = "sparse mma.sync takes longer than tcgen05 with a dense operand of 64 rows"
    assert FORM not in found.ptx and any(remark.message.endswith(reason) for remark in found.all_remarks)
    for (result,) in run_everywhere(matmul, (1, 1), args, (3,), target="sm_100a", hints={}):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("extents", [(40, 24, 136), (9, 5, 72), (16, 16, 200)], ids=str)
@pytest.mark.parametrize("kernel", [matmul, matmul_of_rows], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("name", ["bf16", "tf32", "e4m3", "u8"])
def test_partial_tiles(name: str, kernel: Any, extents: tuple[int, int, int], target: str) -> None:
    check(KINDS[name], ((16, 16, 64), extents), target, kernel)


@pytest.mark.parametrize("words", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["f16", "tf32"])
def test_any_number_of_words(name: str, words: int, target: str) -> None:
    """With one word the threads that the selector 1 names have a copy."""
    kind = KINDS[name]
    check(kind, ((32, 32, words * kind.word), (32, 32, 2 * words * kind.word)), target)


@pytest.mark.parametrize("element", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_sums_of_8_bit_floats_in_f16(element: Any, target: str) -> None:
    """The instruction has no such sums, so that they are in f32."""
    check(Kind(element, np.float16), ((16, 16, 64), (16, 16, 192)), target)


@ct.kernel
def loop_with_other_work(A, E, B, Scale, C, tm: Const, tn: Const, tk: Const):
    """The accumulator is scaled in each iteration, and the metadata of the first tile serves all."""
    total, metadata = ct.zeros((tm, tn), ct.float32), ct.load(E, (0, 0), (tm, tk // 32))
    for k in range(ct.num_tiles(B, axis=0, shape=(tk, tn))):
        total = total * ct.load(Scale, (k,), (1,)).reshape((1, 1))
        total = ct.mma_sparse(ct.load(A, (0, k), (tm, tk // 2)), metadata, ct.load(B, (k, 0), (tk, tn)), total)
    ct.store(C, (0, 0), total)


def test_metadata_of_an_outer_scope(target: str) -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    (tm, tn, tk), steps = (16, 32, 64), 3
    kept = np.tile(sparse_matrix(random, tm, tk, kind) != 0, (1, steps))
    a = np.where(kept, random.integers(1, 4, kept.shape), 0).astype(np.float16)
    b = dense_matrix(random, steps * tk, tn, kind)
    scale = np.array([1, 2, -1], np.float32)
    exact = np.zeros((tm, tn))
    for k in range(steps):
        part = slice(k * tk, (k + 1) * tk)
        exact = exact * scale[k] + product(a[:, part], b[part])
    args = (*ct.compress_2_4(a), b, scale, np.zeros((tm, tn), np.float32), tm, tn, tk)
    assert FORM in compiled(loop_with_other_work, args, target).ptx
    for (found,) in run_everywhere(loop_with_other_work, (1,), args, (4,), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)


def test_elements_that_meet_no_kept_element_do_not_count(target: str) -> None:
    """In the simulator; the interpreter multiplies them by zero."""
    kind = KINDS["f16"]
    args, _ = arguments(kind, ((16, 16, 64), (16, 16, 64)))
    dense = np.tile(np.array([1, 2, 0, 0], np.float16), (16, 16))
    right = args[2].copy()
    right[2::4] = np.inf
    args = (*ct.compress_2_4(dense), right, *args[3:])
    ct.run(compiled(matmul, args, target), (1, 1), args, backend="simulate")
    np.testing.assert_array_equal(args[3], product(dense, np.where(np.isinf(right), 0, right)))


@pytest.mark.parametrize("name", ["f16", "i8"])
def test_the_simulator_finds_illegal_metadata(name: str, target: str) -> None:
    args, _ = arguments(KINDS[name], ((32, 16, 128), (32, 16, 128)))
    args[1][9, 1] &= ~np.uint32(15)
    with pytest.raises(ct.TilecError, match="two ascending indices, as 0b0100, got 0b0000 for row"):
        ct.run(compiled(matmul, args, target), (1, 1), args, backend="simulate")


def test_checks_find_illegal_metadata(target: str) -> None:
    args, _ = arguments(KINDS["f16"], ((16, 16, 64), (16, 16, 64)))
    args[1][3, 1] &= ~np.uint32(15)
    with pytest.raises(ct.TilecError, match="a nibble of the metadata must be one of 0b0100, 0b1000, 0b1001"):
        ct.run(compiled(matmul, args, target, checks=True), (1, 1), args, backend="simulate")


@pytest.mark.parametrize(
    ("tile", "reason"),
    [
        ((16, 16, 32), "sparse mma.sync reads 32 bytes along K, the operands have 16 elements of i8"),
        ((8, 16, 64), "sparse mma.sync needs 16 rows, the accumulator has 8"),
    ],
    ids=str,
)
def test_what_no_unit_can_do_has_a_dense_operand(tile: tuple[int, int, int], reason: str, target: str) -> None:
    args, exact = arguments(KINDS["i8"], (tile, tile))
    found = compiled(matmul, args, target)
    assert FORM not in found.ptx and "mma.sync.aligned" in found.ptx
    assert any(remark.message.endswith(reason) for remark in found.all_remarks)
    for (result,) in run_everywhere(matmul, (1, 1), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(result, exact)
