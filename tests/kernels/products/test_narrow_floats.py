"""Products of floats of 4, 6 and 8 bits of different types: interpreter and simulator equal exact sums of numpy."""

from __future__ import annotations

import itertools
import re

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere
from narrow_floats import (
    FORMATS,
    PACKED,
    aligned,
    batch,
    chained,
    constants,
    declared,
    low_bits,
    operand,
    product,
    product_and_bytes,
    product_and_sum,
    product_of_bytes,
    product_of_columns,
    product_of_rows,
    rounded,
    scaled_product,
    values,
)

import tilec
import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
PAIRS = list(itertools.product(FORMATS, FORMATS))
NARROW = [pair for pair in PAIRS if set(pair) & set(PACKED)]


def operands(random, left, right, a_shape, b_shape):
    """Values of both types; integers of two types of 8 bits, whose products wgmma sums with 13 fraction bits."""
    a, b = values(random, left, a_shape), values(random, right, b_shape)
    return (a, b) if {left, right} & set(PACKED) else (np.rint(a), np.rint(b))


def everywhere(compiled, grid, args, output, seeds=(0, 1, 2)):
    """The output of the simulator for each seed and of the interpreter."""
    found = []
    for backend, settings in [*(("simulate", {"seed": seed}) for seed in seeds), ("interpret", {})]:
        given = [aligned(arg) if number == output else arg for number, arg in enumerate(args)]
        tilec.run(compiled, grid, given, backend=backend, **settings)
        found.append(given[output])
    return found


def maps_of(compiled):
    return [recipe.element for recipe in compiled.metadata.tensor_maps]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_every_pair(target, left, right):
    """64 rows are multiplied by tcgen05 and wgmma, 16 by mma.sync."""
    random = np.random.default_rng(7)
    for tile in ((64, 32, 64), (16, 16, 32)):
        a, b = operands(random, left, right, (64, 128), (32, 128))
        args = [operand(a, left), operand(b, right), np.zeros((64, 32), np.float32), *tile, *constants(left, right)]
        for (c,) in run_everywhere(product, (64 // tile[0], 32 // tile[1]), args, (2,), target=target, hints={}):
            assert np.array_equal(c, a @ b.T)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("target", TARGETS)
def test_random_shapes(target, seed):
    """Tiles outside of the arrays have zeros."""
    random = np.random.default_rng(seed)
    left, right = (str(random.choice(list(FORMATS))) for _ in range(2))
    rows, columns, depth = (int(random.integers(1, 5)) * step for step in (23, 16, 64))
    tile = tuple(int(random.choice(sizes)) for sizes in ((16, 64, 128), (16, 64), (32, 64, 128)))
    a, b = operands(random, left, right, (rows, depth), (columns, depth))
    grid = (-(-rows // tile[0]), -(-columns // tile[1]))
    output = np.zeros((rows, columns), np.float32)
    args = [operand(a, left), operand(b, right), output, *tile, *constants(left, right)]
    for (c,) in run_everywhere(product, grid, args, (2,), target=target, hints={}, seeds=(seed,)):
        assert np.array_equal(c, a @ b.T)


@pytest.mark.parametrize("target", TARGETS)
def test_half_accumulator(target):
    random = np.random.default_rng(3)
    a, b = values(random, "float8_e5m2", (64, 32)) // 2, values(random, "float4_e2m1fn", (32, 32)) // 2
    names = ("float8_e5m2", "float4_e2m1fn")
    args = [operand(a, names[0]), operand(b, names[1]), np.zeros((64, 32), np.float16), 64, 32, 32, *constants(*names)]
    for (c,) in run_everywhere(product, (1, 1), args, (2,), target=target, hints={}):
        assert np.array_equal(c, (a @ b.T).astype(np.float16))


def unpacked(left, right, shape=(256, 128, 512), tile=(128, 64, 128), seed=0):
    """A product that is compiled for a signature whose facts let TMA unpack the operands, and its exact result."""
    random = np.random.default_rng(seed)
    rows, columns, depth = shape
    a, b = values(random, left, (rows, depth)), values(random, right, (columns, depth))
    arrays = operand(a, left), operand(b, right)
    signature = (
        f"A: {declared(arrays[0], left)}, B: {declared(arrays[1], right)}, C: f32[?,?], tm={tile[0]}, tn={tile[1]}, "
        f"tk={tile[2]}, a_type={FORMATS[left][1]}, b_type={FORMATS[right][1]}"
    )
    compiled = tilec.compile(product, target="sm_100a", signature=signature)
    args = [*arrays, np.zeros((rows, columns), np.float32), *tile, *constants(left, right)]
    grid = (-(-rows // tile[0]), -(-columns // tile[1]))
    return compiled, grid, args, a @ b.T


@pytest.mark.parametrize(("left", "right"), NARROW)
def test_tma_unpacks_every_pair(left, right):
    compiled, grid, args, exact = unpacked(left, right)
    elements = [f"u{name[5]}_align16b" for name in (left, right) if name in PACKED]
    assert [each for each in maps_of(compiled) if each.endswith("align16b")] == elements
    assert "kind::f8f6f4" in compiled.ptx
    assert not compiled.all_remarks
    for c in everywhere(compiled, grid, args, 2):
        assert np.array_equal(c, exact)


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((128, 64, 512), (128, 64, 256)),
        ((64, 64, 256), (64, 64, 128)),
        ((256, 128, 256), (256, 128, 128)),
        ((200, 72, 384), (128, 64, 256)),
        ((256, 256, 256), (128, 256, 128)),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_tma_unpacks_tiles(shape, tile, seed):
    """Two panels, 64 rows, two blocks of rows, ends of all dimensions, all columns of an instruction."""
    compiled, grid, args, exact = unpacked("float6_e3m2fn", "float4_e2m1fn", shape, tile, seed)
    assert {"u6_align16b", "u4_align16b"} <= set(maps_of(compiled))
    for c in everywhere(compiled, grid, args, 2, seeds=range(seed, seed + 2)):
        assert np.array_equal(c, exact)


def test_bytes_that_the_barrier_awaits_are_those_of_global_memory():
    """PTX ISA 9.7.9.27.1.1: complete_tx counts 96 bytes of 128 elements of 6 bits, 64 of 4 bits."""
    compiled, *_ = unpacked("float6_e2m3fn", "float4_e2m1fn")
    assert f"expect_tx.shared::cta.b64 _, [%r1], {128 * 96 + 64 * 64};" in _without_numbers(compiled.ptx)


def _without_numbers(ptx):
    return re.sub(r"\[%r\d+\], (\d+);", r"[%r1], \1;", ptx)


def test_tma_unpacks_tiles_of_bytes():
    random = np.random.default_rng(5)
    a, b = values(random, "float4_e2m1fn", (128, 512)), values(random, "float4_e2m1fn", (64, 512))
    arrays = operand(a, "float4_e2m1fn"), operand(b, "float4_e2m1fn")
    signature = "A: u8[?,?%64] align 32, B: u8[?,256] align 32, C: f32[?,?], tm=128, tn=64, tk=256"
    compiled = tilec.compile(product_of_bytes, target="sm_100a", signature=signature)
    assert maps_of(compiled).count("u4_align16b") == 2
    for c in everywhere(compiled, (1, 1), [*arrays, np.zeros((128, 64), np.float32), 128, 64, 256], 2):
        assert np.array_equal(c, a @ b.T)


def test_pair_of_blocks_unpacks_tiles_of_bytes():
    random = np.random.default_rng(6)
    a, b = values(random, "float4_e2m1fn", (256, 512)), values(random, "float4_e2m1fn", (128, 512))
    arrays = operand(a, "float4_e2m1fn"), operand(b, "float4_e2m1fn")
    signature = "A: u8[?,256] align 32, B: u8[?,256] align 32, C: f32[?,?], tm=256, tn=128, tk=128"
    compiled = tilec.compile(product_of_bytes, target="sm_100a", signature=signature, hints={"num_ctas": 2})
    for c in everywhere(compiled, (1, 1), [*arrays, np.zeros((256, 128), np.float32), 256, 128, 128], 2):
        assert np.array_equal(c, a @ b.T)


def test_tile_that_threads_read_too_is_not_unpacked():
    random = np.random.default_rng(8)
    name = "float6_e3m2fn"
    a, b = values(random, name, (128, 256)), values(random, "float8_e4m3fn", (64, 256))
    arrays = operand(a, name), operand(b, "float8_e4m3fn")
    signature = (
        f"A: {declared(arrays[0], name)}, B: f8E4M3FN[?,?], C: f32[?,?], S: f32[?], tm=128, tn=64, tk=128, "
        "a_type=f6E3M2FN"
    )
    compiled = tilec.compile(product_and_sum, target="sm_100a", signature=signature)
    assert "u6_align16b" not in maps_of(compiled)
    for number, exact in ((2, a @ b.T), (3, a.sum(1))):
        args = [*arrays, np.zeros((128, 64), np.float32), np.zeros(128, np.float32), 128, 64, 128, *constants(name)]
        for found in everywhere(compiled, (1,), args, number, seeds=(0,)):
            assert np.array_equal(found, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"])
def test_product_that_is_rounded_and_multiplied(target, dtype):
    """The operand of the second multiply is computed from the accumulator of the first."""
    random = np.random.default_rng(9)
    a = random.integers(-1, 2, (128, 32)).astype(np.float32)
    b, c = (random.integers(-1, 2, shape).astype(np.float32) / 4 for shape in ((32, 64), (64, 64)))
    again = (a @ b).astype(FORMATS[dtype][0]).astype(np.float32)
    arrays = [operand(a, "float6_e2m3fn"), b.astype(ml_dtypes.float8_e4m3fn), c.astype(ml_dtypes.float8_e5m2)]
    args = [*arrays, np.zeros((128, 64), np.float32), 128, 64, 32, getattr(ct, dtype)]
    for (d,) in run_everywhere(chained, (1,), args, (3,), target=target, hints={}):
        assert np.array_equal(d, again @ c)


SCALED = [("float8_e4m3fn", "float8_e5m2"), *[pair for pair in NARROW if pair != ("float4_e2m1fn",) * 2]]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("left", "right"), SCALED)
def test_block_scaling(target, left, right):
    """128 rows are multiplied by tcgen05 with factors on sm_100a, and others in blocks."""
    random = np.random.default_rng(11)
    rows, columns, depth, tile = 128, 32, 256, (128, 32, 128)
    a, b = values(random, left, (rows, depth)), values(random, right, (columns, depth))
    # Factors of 1 and 2: scaled products are multiples of 1/256 up to 256, of which float32 sums of 256 are exact.
    codes = [random.integers(127, 129, shape).astype(np.uint8) for shape in ((rows, 16), (depth // 32, columns))]
    codes[0] = codes[0][:, : depth // 32]  # with a stride of 16 bytes, as the signature has it
    a_scale, b_scale = (each.view(ml_dtypes.float8_e8m0fnu) for each in codes)
    factors = [np.exp2(each.astype(np.float32) - 127) for each in codes]
    exact = (a * np.repeat(factors[0], 32, 1)) @ (b.T * np.repeat(factors[1], 32, 0))
    arrays = operand(a, left), operand(b, right)
    signature = (
        f"A: {declared(arrays[0], left)}, SA: f8E8M0FNU[?,?], B: {declared(arrays[1], right)}, SB: f8E8M0FNU[?,?], "
        f"C: f32[?,?], tm=128, tn=32, tk=128, a_type={FORMATS[left][1]}, b_type={FORMATS[right][1]}"
    )
    compiled = tilec.compile(scaled_product, target=target, signature=signature)
    if target == "sm_100a":
        assert "kind::mxf8f6f4" in compiled.ptx
        assert sum(each.endswith("align16b") for each in maps_of(compiled)) == (left in PACKED) + (right in PACKED)
    output = np.zeros((rows, columns), np.float32)
    args = [arrays[0], a_scale, arrays[1], b_scale, output, *tile, *constants(left, right)]
    for c in everywhere(compiled, (1, 1), args, 4, seeds=(0, 1)):
        assert np.array_equal(c, exact)


@pytest.mark.parametrize(("left", "right"), [("float8_e4m3fn", "float4_e2m1fn"), ("float6_e2m3fn", "float8_e5m2")])
def test_block_scaling_by_pairs(left, right):
    """CTAs divide the rows of packed views too."""
    random, tile, depth = np.random.default_rng(12), (256, 256, 128), 512
    a, b = values(random, left, (256, depth)), values(random, right, (256, depth))
    codes = [random.integers(126, 129, shape).astype(np.uint8) for shape in ((256, 16), (16, 256))]
    factors = [np.exp2(each.astype(np.float32) - 127) for each in codes]
    exact = (a * np.repeat(factors[0], 32, 1)) @ (b.T * np.repeat(factors[1], 32, 0))
    arrays = operand(a, left), operand(b, right)
    signature = (
        f"A: {declared(arrays[0], left)}, SA: f8E8M0FNU[?,?], B: {declared(arrays[1], right)}, SB: f8E8M0FNU[?,?], "
        f"C: f32[?,?], tm=256, tn=256, tk=128, a_type={FORMATS[left][1]}, b_type={FORMATS[right][1]}"
    )
    compiled = tilec.compile(scaled_product, target="sm_100a", signature=signature, hints={"num_ctas": 2})
    assert compiled.ptx.count("tcgen05.mma.cta_group::2.kind::mxf8f6f4") == compiled.ptx.count("tcgen05.mma") == 4
    scales = (each.view(ml_dtypes.float8_e8m0fnu) for each in codes)
    output = np.zeros((256, 256), np.float32)
    args = [arrays[0], next(scales), arrays[1], next(scales), output, *tile, *constants(left, right)]
    for c in everywhere(compiled, (1, 1), args, 4, seeds=(0, 1)):
        assert np.array_equal(c, exact)


@ct.kernel
def fast_product(A, B, C):
    a = ct.packed_view(A, dtype=ct.float6_e2m3fn, tile=(64, 64)).load((0, 0))
    product = ct.mma(a, ct.load(B, (0, 0), (64, 32)), ct.zeros((64, 32), ct.float32), use_fast_acc=True)
    ct.store(C, (0, 0), product)


@pytest.mark.parametrize("target", TARGETS)
def test_fast_accumulation_multiplies_bytes(target):
    random = np.random.default_rng(2)
    a, b = (random.integers(-2, 3, shape).astype(np.float32) for shape in ((64, 64), (64, 32)))
    args = [operand(a, "float6_e2m3fn"), b.astype(ml_dtypes.float8_e5m2), np.zeros((64, 32), np.float32)]
    for (c,) in run_everywhere(fast_product, (1,), args, (2,), target=target, hints={}):
        assert np.array_equal(c, a @ b)
    signature = tilec.Signature.from_arguments(fast_product, args)
    compiled = tilec.compile(fast_product, target=target, signature=signature)
    assert "e4m3.e5m2" in compiled.ptx or "kind::f8f6f4" in compiled.ptx
    if target == "sm_90a":
        wanted = "sm_90a has no operands of f6E2M3FN: they are converted to f8E4M3FN, which has all of their values"
        assert wanted in "\n".join(map(str, compiled.all_remarks))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [128, 256])
def test_stores_of_six_bits(target, columns):
    """TMA packs the elements on sm_100a (.b6p2x16), threads on sm_90a; tiles end outside of the array."""
    x = (np.random.default_rng(4).standard_normal((72, 384)) * 6).astype(np.float32)
    y = operand(np.zeros((72, 384)), "float6_e3m2fn")
    signature = f"X: f32[?,?], Y: u8[?,{y.shape[1]}] align 32, tm=32, tn={columns}"
    compiled = tilec.compile(rounded, target=target, signature=signature)
    assert maps_of(compiled) == (["u6_align16b"] if target == "sm_100a" else [])
    for found in everywhere(compiled, (3, -(-384 // columns)), [x, y, 32, columns], 1):
        exact = x.astype(ml_dtypes.float6_e3m2fn).astype(np.float32)
        assert np.array_equal(ct.unpack_rows(found, ct.float6_e3m2fn), exact)


def test_store_drops_the_upper_bits():
    x = np.random.default_rng(5).integers(0, 256, (32, 128)).astype(np.uint8)
    y = operand(np.zeros((32, 128)), "float6_e3m2fn")
    signature = f"X: u8[?,?], Y: u8[?,{y.shape[1]}] align 32, tm=32, tn=128"
    compiled = tilec.compile(low_bits, target="sm_100a", signature=signature)
    assert maps_of(compiled) == ["u6_align16b"]
    codes = (x & 63).view(ml_dtypes.float6_e3m2fn).astype(np.float32)
    for found in everywhere(compiled, (1, 1), [x, y, 32, 128], 1):
        assert np.array_equal(found, ct.pack_rows(codes, ct.float6_e3m2fn))


def test_bytes_that_threads_read_too_are_not_unpacked():
    random = np.random.default_rng(12)
    a, b = values(random, "float4_e2m1fn", (128, 256)), values(random, "float8_e4m3fn", (64, 256))
    arrays = operand(a, "float4_e2m1fn"), operand(b, "float8_e4m3fn")
    signature = "A: u8[?,128] align 32, B: f8E4M3FN[?,?], C: f32[?,?], S: i32[?], tm=128, tn=64, tk=128"
    compiled = tilec.compile(product_and_bytes, target="sm_100a", signature=signature)
    assert "u4_align16b" not in maps_of(compiled)
    for number, exact in ((2, a @ b.T), (3, arrays[0].sum(1, dtype=np.int32))):
        args = [*arrays, np.zeros((128, 64), np.float32), np.zeros(128, np.int32), 128, 64, 128]
        for found in everywhere(compiled, (1,), args, number, seeds=(0,)):
            assert np.array_equal(found, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [product_of_rows, product_of_columns], ids=lambda kernel: kernel.name)
def test_operands_in_either_order(target, kernel):
    random = np.random.default_rng(13)
    is_transposed = kernel is product_of_columns
    a, b = values(random, "float6_e2m3fn", (128, 256)), values(random, "float8_e5m2", (256, 64))
    arrays = operand(a.T if is_transposed else a, "float6_e2m3fn"), operand(b, "float8_e5m2")
    signature = f"A: {declared(arrays[0], 'float6_e2m3fn')}, B: f8E5M2[?,?], C: f32[?,?], tm=128, tn=64, tk=128"
    compiled = tilec.compile(kernel, target=target, signature=signature)
    assert ("u6_align16b" in maps_of(compiled)) == (target == "sm_100a" and not is_transposed)
    if target == "sm_100a" and is_transposed:
        assert "tcgen05 reads f6E2M3FN only where K is contiguous" in "\n".join(map(str, compiled.all_remarks))
    for c in everywhere(compiled, (1,), [*arrays, np.zeros((128, 64), np.float32), 128, 64, 128], 2, seeds=(0, 1)):
        assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("target", TARGETS)
def test_batch(target):
    random = np.random.default_rng(14)
    a, b = values(random, "float6_e2m3fn", (2, 64, 128)), values(random, "float8_e5m2", (2, 128, 32))
    args = [operand(a, "float6_e2m3fn"), operand(b, "float8_e5m2"), np.zeros((2, 64, 32), np.float32)]
    for (c,) in run_everywhere(batch, (1,), args, (2,), target=target, hints={}):
        assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("target", TARGETS)
def test_pair_of_blocks_multiplies_two_types_of_8_bits(target):
    random = np.random.default_rng(15)
    names = "float8_e4m3fn", "float8_e5m2"
    a, b = operands(random, *names, (256, 256), (128, 256))
    args = [operand(a, names[0]), operand(b, names[1]), np.zeros((256, 128), np.float32), 256, 128, 128]
    args += constants(*names)
    signature = tilec.Signature.from_arguments(product, args)
    compiled = tilec.compile(product, target=target, signature=signature, hints={"num_ctas": 2})
    assert ("cta_group::2.kind::f8f6f4" in compiled.ptx) == (target == "sm_100a")
    for c in everywhere(compiled, (1, 1), args, 2):
        assert np.array_equal(c, a @ b.T)
