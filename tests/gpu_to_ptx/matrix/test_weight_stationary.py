"""tcgen05.mma.ws: accumulators whose columns have lanes, rows of lhs from a shift on, and rows that a mask clears."""

from __future__ import annotations

import re

import numpy as np
import pytest
from simulated import DTYPES, kernel, run, run_ptx, store_view, tile
from tensor_operand import Product

from tilec.errors import VerificationError
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.tensor_layout import TensorLayout
from tilec.runtime.cubin.cubin import assemble

SHAPES = [(rows, columns) for rows in (64, 128, 256) for columns in (32, 64, 128)]


def text_of(
    element: str, rows: int, columns: int, *, shift: int = 0, more: int = 0, zero: str = "", warps: int = 4
) -> str:
    """R = A[shift:shift + rows] B in two steps of 128 bytes along K; A has `more` rows, and B is by column."""
    size = np.dtype(DTYPES[element]).itemsize
    depth, sums = 128 // size, "i32" if element == "i8" else "f32"
    left, right = blocked((rows + more, depth), warps, 1, 4), blocked((depth, columns), warps, 0, 4)
    total = TensorLayout((rows, columns), 4, 128, transposed=True)
    operands = "stages 1 producer threads consumers [mma] reuse ring"
    shifted = (" skip [%z#0, %z#1]" if zero else "") + (f" shifted {shift}" if shift else "")
    return f"""
!left = tensor<{rows + more}x{depth}x{element}, "{left}">
!left_slot = buffer<{rows + more}x{depth}x{element}, shared, contiguous=1 swizzle=128B>
!left_ring = channel<[!left_slot]>
!right = tensor<{depth}x{columns}x{element}, "{right}">
!right_slot = buffer<{depth}x{columns}x{element}, shared, contiguous=0 swizzle=128B>
!right_ring = channel<[!right_slot]>
!sum = tensor<{rows}x{columns}x{sums}, "{total.registers(warps)}">
!sum_slot = buffer<{rows}x{columns}x{sums}, tensor, {total}>
!sum_ring = channel<[!sum_slot]>
tile_gpu.kernel @k(%p: i64, %q: i64, %r: i64, %start: i32) target "sm_100a" warps {warps} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %step = arith.constant {depth} : i32
  %depth = arith.constant {2 * depth} : i32
  %loaded = arith.constant {rows + more} : i32
  %rows = arith.constant {rows} : i32
  %columns = arith.constant {columns} : i32
  %lefts = tile_gpu.make_channel {operands} : !left_ring
  %rights = tile_gpu.make_channel {operands} : !right_ring
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !sum_ring
  {zero}
  %sum = tile_gpu.put_begin %sums : !sum_ring
  scf.for %i = %c0 to %c2 step %c1 : i32 {{
    %k = arith.muli %i, %step : i32
    %x = tile_gpu.load_view %p[%c0, %k] extents [%loaded, %depth] strides [%depth, %c1] vector 1 padding "zero" : !left
    %y = tile_gpu.load_view %q[%k, %c0] extents [%depth, %columns] strides [%c1, %depth] vector 1 padding "zero"
      : !right
    %a = tile_gpu.put_begin %lefts : !left_ring
    tile_gpu.store_shared %x, %a : !left -> !left_slot
    tile_gpu.put_commit %lefts : !left_ring
    %b = tile_gpu.put_begin %rights : !right_ring
    tile_gpu.store_shared %y, %b : !right -> !right_slot
    tile_gpu.put_commit %rights : !right_ring
    %left = tile_gpu.get %lefts consumer 0 : !left_ring
    %right = tile_gpu.get %rights consumer 0 : !right_ring
    %more = arith.cmpi sgt, %i, %c0 : i32
    tile_gpu.tcgen05_mma {element} %left, %right into %sum accumulate %more{shifted}
      : !left_slot, !right_slot -> !sum_slot
    tile_gpu.release %lefts consumer 0 : !left_ring
    tile_gpu.release %rights consumer 0 : !right_ring
  }}
  tile_gpu.put_commit %sums : !sum_ring
  %total = tile_gpu.get %sums consumer 0 : !sum_ring
  %t = tile_gpu.load_tensor_memory %total : !sum_slot -> !sum
  tile_gpu.release %sums consumer 0 : !sum_ring
  tile_gpu.store_view %t -> %r[%c0, %c0] extents [%rows, %columns] strides [%columns, %c1] vector 1 : !sum
}}
"""


def matrices(element: str, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, and their exact product; B is by column."""
    random, depth = np.random.default_rng(rows + columns), 256 // np.dtype(DTYPES[element]).itemsize
    a, b = (random.integers(-4, 5, (count, depth)).astype(DTYPES[element]) for count in (rows, columns))
    return a, b, a.astype(np.int64) @ b.astype(np.int64).T


def product(text: str, a: np.ndarray, b: np.ndarray, rows: int, start: int = 0, warps: int = 4) -> np.ndarray:
    sums = np.int32 if a.dtype == np.int8 else np.float32
    result = np.full((rows, len(b)), 99, sums)
    run_ptx(Product.ptx_of(text), [a, b, result, start], warps=warps)
    return result


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_each_shape(rows: int, columns: int) -> None:
    """M of the instruction is the number of columns, and N the number of rows."""
    a, b, exact = matrices("f16", rows, columns)
    text = text_of("f16", rows, columns)
    np.testing.assert_array_equal(product(text, a, b, rows), exact)
    assert len(re.findall(r"tcgen05\.mma\.ws\.cta_group::1\.kind::f16 ", Product.ptx_of(text))) == 4


@pytest.mark.parametrize("element", DTYPES)
def test_each_type(element: str) -> None:
    a, b, exact = matrices(element, 64, 32)
    np.testing.assert_array_equal(product(text_of(element, 64, 32), a, b, 64), exact)


def test_eight_warps_split_the_rows() -> None:
    a, b, exact = matrices("f16", 128, 64)
    np.testing.assert_array_equal(product(text_of("f16", 128, 64, warps=8), a, b, 128, warps=8), exact)


@pytest.mark.parametrize(("columns", "shift"), [(32, 3), (32, 16), (64, 8), (128, 32)])
def test_shifted_rows(columns: int, shift: int) -> None:
    """Row i of the product is that of row shift + i of lhs, which has more rows than the accumulator."""
    a, b, exact = matrices("f16", 64 + 64, columns)
    text = text_of("f16", 64, columns, shift=shift, more=64)
    np.testing.assert_array_equal(product(text, a, b, 64), exact[shift : shift + 64])


@pytest.mark.parametrize("columns", [32, 64, 128])
@pytest.mark.parametrize("start", [0, 5, 8, 13])
def test_rows_of_a_mask_are_zero(columns: int, start: int) -> None:
    """Rows of images of 9 pixels: the last two of each read padding, wherever the first image starts."""
    a, b, exact = matrices("f16", 64 + 64, columns)
    mask = f"%z:2 = tile_gpu.zero_rows %start period 9 from 7 to 9 of 64 by {columns}"
    exact = exact[2:66]
    exact[(start + np.arange(64)) % 9 >= 7] = 0
    text = text_of("f16", 64, columns, shift=2, more=64, zero=mask)
    np.testing.assert_array_equal(product(text, a, b, 64, start), exact)


def cleared(mask: int, rows: int, groups: int) -> np.ndarray:
    """The columns of the product that a mask clears, by PTX ISA 9.7.16.4.3 as its examples have it."""
    found = []
    assert mask >> 36 & 0b1111 == 0b1000 and mask >> 56 == 0
    zeros, used = (mask >> 40 & 0xFF) + 1, (mask >> 48 & 0xFF) + 1
    for group in range(groups):
        count, zeros_first = mask >> 8 * group & 0xFF, mask >> 32 + group & 1
        assert count < (zeros if zeros_first else used)
        spans = [True] * zeros + [False] * used if zeros_first else [False] * used + [True] * zeros
        found += (spans * (rows + 1))[count : count + rows // groups]
    return np.array(found)


@pytest.mark.parametrize("columns", [32, 64, 128])
@pytest.mark.parametrize(
    ("start", "period", "begin", "end"),
    [(0, 2, 0, 1), (6, 7, 0, 3), (13, 57, 55, 57), (129, 130, 0, 2), (300, 512, 0, 256), (3, 5, 1, 4),
     (255, 257, 256, 257)],
)  # fmt: skip
def test_masks(start: int, period: int, begin: int, end: int, columns: int) -> None:
    """Each group of lanes starts at its part of the rows; a start count is less than its first span."""
    word = tile("i32", blocked((1,), 1, 0, 2))
    lines = [f"%c{n} = arith.constant {n} : i32" for n in range(3)]
    lines.append(
        f'%w:2 = "tile_gpu.zero_rows"(%start) {{'
        f"period = {period} : i32, begin = {begin} : i32, end = {end} : i32, "
        f"rows = 256 : i32, columns = {columns} : i32}} : (i32) -> (i32, i32)"
    )
    for n in range(2):
        lines.append(f'%t{n} = "tile_gpu.splat"(%w#{n}) : (i32) -> {word}')
        lines.append(store_view(f"%t{n}", word, "%p", [f"%c{n}"], ["%c2"], ["%c1"]))
    words = np.zeros(2, np.uint32)
    run(kernel("%p: i64, %start: i32", "\n".join(lines)), [words, start])
    rows, mask = (start + np.arange(256)) % period, int(words.view(np.uint64)[0])
    np.testing.assert_array_equal(cleared(mask, 256, 128 // columns), (begin <= rows) & (rows < end))


@pytest.mark.parametrize("columns", [32, 128])
def test_ptxas_accepts_the_multiply(columns: int) -> None:
    mask = f"%z:2 = tile_gpu.zero_rows %start period 9 from 7 to 9 of 64 by {columns}"
    text = text_of("f16", 64, columns, shift=2, more=64, zero=mask)
    assert assemble(Product.ptx_of(text), "sm_100a").warnings == ()


REFUSALS = {
    "rows": (
        lambda: text_of("f16", 64, 32).replace("64x32xf32", "32x32xf32"),
        "expected a transposed accumulator of 64, 128 or 256 rows by 32, 64 or 128 columns",
    ),
    "shift": (
        lambda: text_of("f16", 64, 32, shift=17, more=64),
        "expected a shift from 0 to 16, but got 17",
    ),
    "rows of lhs": (
        lambda: text_of("f16", 128, 64, shift=1),
        "expected a shift from 0 to 0, but got 1",
    ),
    "words": (
        lambda: text_of("f16", 64, 32).replace("accumulate %more", "accumulate %more skip [%c0]"),
        "expected 2 words of skipped rows for lanes=128 transposed, but got 1",
    ),
    "another accumulator": (
        lambda: text_of("f16", 128, 32, shift=1).replace("tensor, lanes=128 transposed", "tensor, lanes=128"),
        "expected rows from 0 to 127 of lhs, but got 1 to 128",
    ),
    "pair": (
        lambda: text_of("f16", 64, 32).replace("tcgen05_mma f16", "tcgen05_mma f16 pair"),
        "a multiply into a transposed accumulator is of one CTA",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    text, message = REFUSALS[name]
    with pytest.raises(VerificationError, match=re.escape(message)):
        Product.ptx_of(text())
