"""Products of batches of matrices, and a Fourier transform by them, agree with numpy on both targets."""

from __future__ import annotations

import batch_kernels
import ml_dtypes
import numpy as np
import pytest
from compare import ROUNDINGS, SEEDS, assert_within, backends, product_tolerance, run_everywhere

import tilec
from tilec.signature import Signature


def batch(random: np.random.Generator, shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    return random.standard_normal(shape).astype(dtype)


def products(a: np.ndarray, b: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The exact products in f64, and their tolerances in the type of the result."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact = a @ b
    return exact, np.stack([product_tolerance(*each, dtype) for each in zip(a, b, exact, strict=True)])


# Tensor cores with several accumulators, one matrix per tile, many small matrices on multiply-adds, one row per matrix.
TILES = [
    ("f2", (2, 64, 32, 64), SEEDS),
    ("f2", (4, 128, 16, 32), (0, 1)),
    ("f2", (1, 64, 64, 64), (0, 1)),
    ("f4", (16, 8, 8, 8), (0, 1)),
    ("f4", (8, 1, 16, 4), (0, 1)),
    ("f2", (8, 16, 16, 16), (0, 1)),
]


@pytest.mark.parametrize(("dtype", "tile", "seeds"), TILES, ids=str)
def test_batches_of_products(target, random, dtype, tile, seeds):
    """Extents are not multiples of the tile; the last batch of matrices is incomplete."""
    tb, tm, tn, tk = tile
    a, b = batch(random, (tb + tb // 2 + 1, tm + 8, 2 * tk + 8), dtype), batch(random, (1, 2 * tk + 8, tn + 8), dtype)
    b = np.concatenate([b * (number % 5 - 2) for number in range(len(a))])
    c = np.zeros((len(a), tm + 8, tn + 8), dtype)
    exact, tolerance = products(a, b, dtype)
    grid = tuple(-(-extent // size) for extent, size in zip((tm + 8, tn + 8, len(a)), (tm, tn, tb), strict=True))
    for (found,) in run_everywhere(
        batch_kernels.batches, grid, (a, b, c, *tile), (2,), target=target, hints={}, seeds=seeds
    ):
        assert_within(found, exact, tolerance)


def test_batch_of_one_accumulates_in_tensor_memory(random):
    """As a product of matrices does: the loop carries no tile in registers."""
    args = (*(batch(random, (2, 128, 128), "f2") for _ in range(2)), np.zeros((2, 128, 128), "f2"), 1, 128, 64, 64)
    signature = Signature.from_arguments(batch_kernels.batches, args)
    compiled = tilec.compile(batch_kernels.batches, target="sm_100a", signature=signature, stop="gpu")
    loops = [line for line in compiled.stage("gpu").text.splitlines() if "scf.for" in line]
    assert len(loops) == 2
    assert not any("!tile_" in loop for loop in loops)


# Element types of operands and accumulator.
TYPES = [
    (np.int8, np.int32),
    (np.uint8, np.int32),
    (ml_dtypes.float8_e4m3fn, np.float32),
    (ml_dtypes.float8_e5m2, np.float16),
    (ml_dtypes.bfloat16, np.float32),
    (np.float16, np.float16),
    (np.float32, np.float32),
    (np.float64, np.float64),
]


@pytest.mark.parametrize("tile", [(4, 64, 32, 32), (8, 16, 16, 8), (2, 8, 32, 16)], ids=str)
@pytest.mark.parametrize("types", TYPES, ids=lambda types: types[0].__name__)
def test_every_type_of_operands(target, random, types, tile):
    """Small integers: products and sums are exact in every type."""
    tb, tm, tn, tk = tile
    operand, result = types
    a = random.integers(0, 4, (2 * tb, tm, tk)).astype(operand)
    b = random.integers(0 if operand is np.uint8 else -3, 4, (1, tk, tn)).astype(operand)
    args = (a, b, np.zeros((2 * tb, tm, tn), result), *tile)
    for (c,) in run_everywhere(batch_kernels.batches_of_type, (2,), args, (2,), target=target, hints={}, seeds=(0, 1)):
        assert np.array_equal(c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64) + 1)


def scaled_batch(shapes: dict[str, tuple[int, int, int]]) -> str:
    """A batch of block-scaled products in Tile IR; the tensors a, b, sa and sb are one tile each, as is c."""
    elements = {"a": "f8E4M3FN", "b": "f8E4M3FN", "sa": "f8E8M0FNU", "sb": "f8E8M0FNU", "c": "f32"}
    tiles = {name: f"{'x'.join(map(str, shape))}x{elements[name]}" for name, shape in shapes.items()}
    parameters = ", ".join(f"%{name}p: tile<ptr<{element}>>" for name, element in elements.items())
    lines = ["%z = constant <i32: 0> : tile<i32>", f"%zero = constant <f32: 0.0> : tile<{tiles['c']}>"]
    views = {}
    for name, (_, rows, columns) in shapes.items():
        strides, element = [rows * columns, columns, 1], elements[name]
        tensor = f"tensor_view<{tiles[name]}, strides={strides}>".replace(" ", "").replace(",strides", ", strides")
        extents = "x".join(map(str, shapes[name]))
        views[name] = f"partition_view<tile=({extents}), {tensor}>"
        lines += [
            f"%{name}a = assume div_by<16>, %{name}p : tile<ptr<{element}>>",
            f"%{name}v = make_tensor_view %{name}a, shape = {list(shapes[name])}, strides = {strides} : {tensor}",
            f"%{name}w = make_partition_view %{name}v : {views[name]}",
        ]
        if name != "c":
            view = f"%{name}w[%z, %z, %z] : {views[name]}, tile<i32> -> tile<{tiles[name]}>, token"
            lines.append(f"%{name}, %{name}t = load_view_tko weak {view}")
    types = ", ".join(f"tile<{tiles[name]}>" for name in ("a", "b", "c", "sa", "sb"))
    lines += [
        f"%r = mmaf_scaled %a, %b, %zero, %sa, %sb : {types}",
        f"%t = store_view_tko weak %r, %cw[%z, %z, %z] : tile<{tiles['c']}>, {views['c']}, tile<i32> -> token",
    ]
    return f"entry @scaled({parameters}) {{\n" + "\n".join(lines) + "\nreturn }"


@pytest.mark.parametrize("extents", [(2, 128, 64, 128), (4, 16, 8, 64)], ids=str)
def test_block_scaled_batch(random, extents, target):
    """sm_90a and 16 rows have no unit with block scaling."""
    tb, tm, tn, tk = extents
    shapes = {
        "a": (tb, tm, tk),
        "b": (tb, tk, tn),
        "sa": (tb, tm, tk // 32),
        "sb": (tb, tk // 32, tn),
        "c": (tb, tm, tn),
    }
    compiled = tilec.compile(tilec.Module.parse(scaled_batch(shapes)), target=target, stop="ptx")
    a, b = (random.integers(-3, 4, shapes[name]).astype(ml_dtypes.float8_e4m3fn) for name in ("a", "b"))
    sa, sb = ((2.0 ** random.integers(-2, 3, shapes[name])).astype(ml_dtypes.float8_e8m0fnu) for name in ("sa", "sb"))
    left, right = np.repeat(sa.astype(np.float64), 32, 2) * a, np.repeat(sb.astype(np.float64), 32, 1) * b
    for backend, settings in backends(range(2)):
        c = np.zeros(shapes["c"], np.float32)
        tilec.run(compiled, (1,), [a, b, sa, sb, c], backend=backend, **settings)
        assert np.array_equal(c, left @ right)


@pytest.mark.parametrize(("dtype", "tile"), [("f2", (2, 64, 32, 64)), ("f4", (4, 16, 8, 8))], ids=str)
def test_operands_computed_transposed_and_from_memory(target, random, dtype, tile):
    tb, tm, tn, tk = tile
    a, b, c = batch(random, (tb, tm, tk), dtype), batch(random, (tb, tn, tk), dtype), batch(random, (tb, tm, tn), "f4")
    extended = np.concatenate([np.abs(a), np.broadcast_to(np.eye(tm), (tb, tm, tm))], axis=2)
    exact, tolerance = products(extended, np.concatenate([b.transpose(0, 2, 1), c], axis=1), "f4")
    args = (a, b, c, np.zeros_like(c), *tile)
    for (d,) in run_everywhere(
        batch_kernels.batches_from_memory, (1,), args, (3,), target=target, hints={}, seeds=range(3)
    ):
        assert_within(d, 2 * exact, 2 * tolerance)


def test_accumulators_changed_as_a_whole(target, random):
    tb, t = 2, 64
    a, b = batch(random, (tb, t, t), "f2"), batch(random, (tb, t, t), "f2")
    first, lost = products(a, b, "f4")
    exact, tolerance = products(first, b, "f4")
    # The product of the first iteration is rounded to f16 before the second.
    tolerance = tolerance + (lost + ROUNDINGS["float16"] * np.abs(first)) @ np.abs(b.astype(np.float64)) + 2.0**-20
    for (d,) in run_everywhere(
        batch_kernels.batches_chained,
        (1,),
        (a, b, np.zeros((tb, t, t), np.float32), tb, t),
        (2,),
        target=target,
        hints={},
        seeds=range(3),
    ):
        assert_within(d, exact + 1, tolerance)


@pytest.mark.parametrize(("tb", "f", "g", "seeds"), [(2, 8, 16, SEEDS), (1, 4, 4, (0,)), (4, 2, 8, (0,))])
def test_fourier_transform(target, random, tb, f, g, seeds):
    n = f * g
    x = random.standard_normal((2 * tb, n, 2)).astype(np.float32)
    angles = -2 * np.pi * np.arange(n) / n
    roots = np.stack([np.cos(angles), np.sin(angles)], -1).astype(np.float32)
    exact = np.fft.fft(x[..., 0].astype(np.float64) + 1j * x[..., 1])
    # Each of the f + g + 4 roundings of a point, and of the roots, is at most 2^-24 of the sum of magnitudes, twice.
    bound = 4 * (f + g + 4) * 2.0**-24 * np.abs(x.astype(np.float64)).sum((1, 2))[:, None, None]
    args = (x, roots, np.zeros_like(x), tb, f, g)
    for (y,) in run_everywhere(batch_kernels.fourier, (2,), args, (2,), target=target, hints={}, seeds=seeds):
        assert_within(y, np.stack([exact.real, exact.imag], -1), bound)
