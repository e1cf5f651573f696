"""ct.mma_sparse: the interpreter and the simulator of both targets equal the product of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere
from sparse_matrices import KINDS, Kind, dense_matrix, matmul, matmul_of_rows, product, sparse_matrix

import tilec as ct
from tilec.signature import Signature

# Tiles, then extents. The last tiles of a row, a column and K may be partial.
SHAPES = [
    ((128, 64, 64), (256, 128, 192)),
    ((64, 32, 128), (64, 64, 256)),
    ((128, 128, 128), (128, 128, 256)),
    ((16, 8, 64), (32, 16, 128)),
    ((128, 64, 64), (100, 40, 136)),
]
# Several words of metadata per row, and blocks of 128 rows.
LARGE_SHAPES = [((256, 64, 128), (256, 64, 256)), ((256, 32, 256), (256, 32, 512))]


def check(kind: Kind, shape: Any, target: str, *, kernel: Any = matmul, seed: int = 0, hints: Any = None) -> None:
    (tm, tn, tk), (m, n, depth) = shape
    random = np.random.default_rng(seed)
    a = sparse_matrix(random, m, depth, kind)
    b = dense_matrix(random, depth, n, kind) if kernel is matmul else dense_matrix(random, n, depth, kind)
    c = np.zeros((m, n), kind.accumulator)
    args = (*ct.compress_2_4(a), b, c, tm, tn, tk, kind.word)
    grid = -(-m // tm), -(-n // tn)
    for (found,) in run_everywhere(kernel, grid, args, (3,), target=target, hints=hints or {}, seeds=(seed,)):
        np.testing.assert_array_equal(found, product(a, b if kernel is matmul else b.T))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_matmul(kind: Kind, shape: Any, target: str) -> None:
    check(kind, shape, target)


@pytest.mark.parametrize("shape", LARGE_SHAPES, ids=str)
@pytest.mark.parametrize("name", ["f16", "e4m3"])
def test_large_tiles(name: str, shape: Any, target: str) -> None:
    check(KINDS[name], shape, target)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_columns_of_the_right_operand_are_contiguous(kind: Kind, target: str) -> None:
    check(kind, ((128, 64, 128), (128, 64, 256)), target, kernel=matmul_of_rows)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_ten_seeds(kind: Kind, seed: int, target: str) -> None:
    check(kind, ((128, 32, 64), (128, 64, 128)), target, seed=seed)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["bf16", "tf32", "e5m2", "i8"])
def test_ten_seeds_by_warps(name: str, seed: int, target: str) -> None:
    check(KINDS[name], ((32, 16, 64), (32, 32, 128)), target, seed=seed)


@pytest.mark.parametrize("kind", [KINDS["f16"], KINDS["e4m3"], KINDS["tf32"]], ids=["f16", "e4m3", "tf32"])
def test_switches(kind: Kind, target: str, switches: dict[str, bool]) -> None:
    check(kind, SHAPES[0], target, hints=switches)


@ct.kernel
def product_of_constants(A, B, C):
    """Every nibble of the metadata keeps the second and the fourth element."""
    metadata = ct.full((16, 1), 0xDDDDDDDD, ct.uint32)
    acc = ct.load(C, (0, 0), (16, 16))
    ct.store(C, (0, 0), ct.mma_sparse(ct.load(A, (0, 0), (16, 16)), metadata, ct.load(B, (0, 0), (32, 16)), acc))


def test_metadata_may_be_computed(target: str) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((16, 16), (32, 16)))
    c = random.integers(-3, 4, (16, 16)).astype(np.float32)
    for (found,) in run_everywhere(product_of_constants, (1,), (a, b, c), (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, c + product(a, b[1::2]))


@ct.kernel
def product_of_unlike_signs(A, E, B, C):
    a, b = ct.load(A, (0, 0), (64, 32)), ct.load(B, (0, 0), (64, 32))
    ct.store(C, (0, 0), ct.mma_sparse(a, ct.load(E, (0, 0), (64, 2)), b, ct.zeros((64, 32), ct.int32)))


@pytest.mark.parametrize("names", [("i8", "u8"), ("u8", "i8")], ids=str)
def test_signs_of_bytes_may_differ(names: tuple[str, str], target: str) -> None:
    random = np.random.default_rng(0)
    left, right = (KINDS[name] for name in names)
    a, b = sparse_matrix(random, 64, 64, left), dense_matrix(random, 64, 32, right)
    args = (*ct.compress_2_4(a), b, np.zeros((64, 32), np.int32))
    for (found,) in run_everywhere(product_of_unlike_signs, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(found, product(a, b))


def compiled(kind: Kind, tile: tuple[int, int, int], target: str, kernel: Any = matmul, **options: Any) -> ct.Compiled:
    (tm, tn, tk), random = tile, np.random.default_rng(0)
    a, b = sparse_matrix(random, tm, 2 * tk, kind), dense_matrix(random, 2 * tk, tn, kind)
    b = np.ascontiguousarray(b.T) if kernel is matmul_of_rows else b
    args = (*ct.compress_2_4(a), b, np.zeros((tm, tn), kind.accumulator), tm, tn, tk, kind.word)
    return ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx", **options)


def reasons(found: ct.Compiled) -> list[str]:
    """The reasons for multiplies with a dense operand."""
    words = "with a sparse left operand is done with a dense one: "
    return [remark.message.partition(words)[2] for remark in found.all_remarks if words in remark.message]


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("f16", "tcgen05.mma.sp.cta_group::1.kind::f16"),
        ("bf16", "tcgen05.mma.sp.cta_group::1.kind::f16"),
        ("tf32", "tcgen05.mma.sp.cta_group::1.kind::tf32"),
        ("e5m2", "tcgen05.mma.sp.cta_group::1.kind::f8f6f4"),
        ("u8", "tcgen05.mma.sp.cta_group::1.kind::i8"),
    ],
)
@pytest.mark.parametrize("words", [4, 8])
@pytest.mark.parametrize("rows", [128, 256])
def test_tensor_memory(name: str, instruction: str, words: int, rows: int) -> None:
    """TMA loads four words of metadata per row at once, and no thread reads them."""
    kind = KINDS[name]
    found = compiled(kind, (rows, 64, words * kind.word), "sm_100a")
    assert instruction in found.ptx and "tcgen05.cp.cta_group::1.128x128b" in found.ptx
    assert "ld.global" not in found.ptx and reasons(found) == []


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("f16", "m64n64k32.f32.f16.f16"),
        ("f16 in f16", "m64n64k32.f16.f16.f16"),
        ("bf16", "m64n64k32.f32.bf16.bf16"),
        ("tf32", "m64n64k16.f32.tf32.tf32"),
        ("e5m2", "m64n64k64.f32.e5m2.e5m2"),
        ("u8", "m64n64k64.s32.u8.u8"),
    ],
)
@pytest.mark.parametrize("rows", [64, 128])
def test_warpgroups(name: str, shape: str, rows: int) -> None:
    """A tile with two words of metadata per row: threads load them in the layout of wgmma, or convert to it."""
    kind = KINDS[name]
    found = compiled(kind, (rows, 64, 2 * kind.word), "sm_90a", matmul_of_rows)
    assert f"wgmma.mma_async.sp.sync.aligned.{shape}" in found.ptx and reasons(found) == []


def test_8_warps_need_128_rows() -> None:
    reason = "sparse wgmma by 8 warps needs a multiple of 128 rows, the accumulator has 64"
    found = compiled(KINDS["f16"], (64, 64, 64), "sm_90a", hints={"warps": 8})
    assert f"the multiply is done by sparse mma.sync: {reason}" in [remark.message for remark in found.all_remarks]
    assert reasons(found) == [] and "mma.sp::ordered_metadata" in found.ptx
    check(KINDS["f16"], ((64, 64, 64), (64, 64, 128)), "sm_90a", hints={"warps": 8})


@pytest.mark.parametrize("words", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["f16", "tf32", "e4m3"])
def test_any_number_of_words(name: str, words: int, target: str) -> None:
    kind = KINDS[name]
    check(kind, ((128, 32, words * kind.word), (128, 32, 2 * words * kind.word)), target)


@pytest.mark.parametrize(
    ("tile", "reason"),
    [
        ((64, 64, 64), "sparse tcgen05 needs a multiple of 128 rows, the accumulator has 64"),
        ((128, 8, 64), "tcgen05 needs 16 to 256 columns, the accumulator has 8"),
    ],
    ids=str,
)
def test_a_tile_that_tcgen05_refuses_is_multiplied_by_warps(tile: tuple[int, int, int], reason: str) -> None:
    found = compiled(KINDS["f16"], tile, "sm_100a")
    assert f"the multiply is done by sparse mma.sync: {reason}" in [remark.message for remark in found.all_remarks]
    assert "tcgen05.mma" not in found.ptx and reasons(found) == []
    check(KINDS["f16"], (tile, (tile[0], tile[1], 2 * tile[2])), "sm_100a")


def test_a_tile_without_room_in_tensor_memory_has_a_dense_operand() -> None:
    found = compiled(KINDS["f16"], (256, 256, 64), "sm_100a")
    reason = "an accumulator of 256x256 and its words of metadata need 520 columns of tensor memory, sm_100a has 512"
    slower = "sparse mma.sync takes longer than tcgen05 with a dense operand of 256 rows"
    assert ".sp" not in found.ptx and reasons(found) == [f"{reason}; {slower}"]


def test_a_cluster_has_a_dense_operand(target: str) -> None:
    kind, hints = KINDS["f16"], {"num_ctas": 2}
    found = compiled(kind, (256, 64, 64), target, hints=hints)
    assert reasons(found) == ["metadata cannot be divided among the 2 CTAs of a cluster"]
    check(kind, ((256, 64, 64), (256, 64, 128)), target, hints=hints)


@ct.kernel
def two_products(A, E, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], word: ct.Constant[int]):
    """Each needs 256 columns of tensor memory, and more for its metadata, in one loop."""
    once, again = ct.zeros((tm, tn), C.dtype), ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(B, axis=0, shape=(tk, tn))):
        a, metadata = ct.load(A, (0, k), (tm, tk // 2)), ct.load(E, (0, k), (tm, tk // word))
        b = ct.load(B, (k, 0), (tk, tn))
        once, again = ct.mma_sparse(a, metadata, b, once), ct.mma_sparse(a, metadata, b, again)
    ct.store(C, (0, 0), once + again)


def test_the_other_multiplies_leave_no_columns() -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    reason = "other multiplies leave 252 columns of tensor memory, and this one needs 260"
    found = compiled(kind, (128, 256, 64), "sm_100a", two_products)
    assert f"the multiply is done by sparse mma.sync: {reason}" in [remark.message for remark in found.all_remarks]
    assert "tcgen05.mma.sp" in found.ptx and reasons(found) == []
    a, b = sparse_matrix(random, 128, 128, kind), dense_matrix(random, 128, 256, kind)
    args = (*ct.compress_2_4(a), b, np.zeros((128, 256), np.float32), 128, 256, 64, kind.word)
    for (found,) in run_everywhere(two_products, (1, 1), args, (3,), target="sm_100a", hints={}):
        np.testing.assert_array_equal(found, 2 * product(a, b))


@ct.kernel
def transposed_operand(A, E, B, C):
    a, b = ct.load(A, (0, 0), (32, 128)).transpose(), ct.load(B, (0, 0), (64, 64))
    ct.store(C, (0, 0), ct.mma_sparse(a, ct.load(E, (0, 0), (128, 2)), b, ct.zeros((128, 64), ct.float32)))


def test_kept_elements_may_be_contiguous_along_rows(target: str) -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    a, b = sparse_matrix(random, 128, 64, kind), dense_matrix(random, 64, 64, kind)
    kept, metadata = ct.compress_2_4(a)
    args = (np.ascontiguousarray(kept.T), metadata, b, np.zeros((128, 64), np.float32))
    for (found,) in run_everywhere(transposed_operand, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(found, product(a, b))


def test_checks_find_illegal_metadata(target: str) -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    a, b = sparse_matrix(random, 128, 64, kind), dense_matrix(random, 64, 64, kind)
    kept, metadata = ct.compress_2_4(a)
    metadata[17, 1] &= ~np.uint32(15)
    c = np.zeros((128, 64), np.float32)
    args = (kept, metadata, b, c, 128, 64, 64, kind.word)
    program = ct.compile(
        matmul, target=target, signature=Signature.from_arguments(matmul, args), checks=True, stop="ptx"
    )
    with pytest.raises(ct.TilecError, match="a nibble of the metadata must be one of 0b0100, 0b1000, 0b1001"):
        ct.run(program, (1, 1), args, backend="simulate")


def test_the_simulator_finds_illegal_metadata() -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    a, b = sparse_matrix(random, 128, 64, kind), dense_matrix(random, 64, 64, kind)
    kept, metadata = ct.compress_2_4(a)
    metadata[17, 1] &= ~np.uint32(15)
    args = (kept, metadata, b, np.zeros((128, 64), np.float32), 128, 64, 64, kind.word)
    with pytest.raises(ct.TilecError, match="two ascending indices, as 0b0100, got 0b0000 for row 17, group 0"):
        ct.launch(None, (1, 1), matmul, args, target="sm_100a")


@ct.kernel
def products_of_unlike_rows(A, E, B, C, D):
    """128 rows fit 8 warps of sm_90a, 64 rows only 4."""
    b = ct.load(B, (0, 0), (64, 32))
    large = ct.load(A, (0, 0), (128, 32)), ct.load(E, (0, 0), (128, 2))
    small = ct.load(A, (1, 0), (64, 32)), ct.load(E, (1, 0), (64, 2))
    ct.store(C, (0, 0), ct.mma_sparse(*large, b, ct.zeros((128, 32), ct.float32)))
    ct.store(D, (0, 0), ct.mma_sparse(*small, b, ct.zeros((64, 32), ct.float32)))


def test_the_number_of_warps_suits_all_multiplies(target: str) -> None:
    kind, random = KINDS["f16"], np.random.default_rng(0)
    a, b = sparse_matrix(random, 128, 64, kind), dense_matrix(random, 64, 32, kind)
    args = (*ct.compress_2_4(a), b, np.zeros((128, 32), np.float32), np.zeros((64, 32), np.float32))
    for large, small in run_everywhere(products_of_unlike_rows, (1,), args, (3, 4), target=target, hints={}):
        np.testing.assert_array_equal(large, product(a, b))
        np.testing.assert_array_equal(small, product(a[64:], b))
