"""Multiplies of rows inside of lhs: the start of a matrix descriptor moves by rows, and its groups may be apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from simulated import DTYPES, run_ptx
from tensor_operand import Product

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.tensor_layout import TensorLayout
from tilec.lowering.layout.wgmma import wgmma_accumulator
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.ptxsim import _native as ptxsim

COLUMNS = 32
UNITS = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}


@dataclass(frozen=True)
class Rows:
    """R = (rows of A) B, where A has `held` rows of `row_bytes`, and B is by column."""

    unit: str
    rows: int = 128
    held: int = 256
    shifted: int = 0
    every: tuple[int, int] | None = None
    element: str = "f16"
    row_bytes: int = 128
    warps: int = 4
    skip: str = ""

    @property
    def depth(self) -> int:
        return self.row_bytes // np.dtype(DTYPES[self.element]).itemsize

    @property
    def clause(self) -> str:
        every = "" if self.every is None else f" every {self.every[0]} by {self.every[1]}"
        return f" shifted {self.shifted}{every}"

    def chosen(self, a: np.ndarray) -> np.ndarray:
        """The rows of A that are multiplied."""
        number = np.arange(self.rows)
        period, pitch = self.every or (self.rows, 0)
        return a[self.shifted + number // period * pitch + number % period]

    @property
    def text(self) -> str:
        sums, zero = ("i32", "0") if self.element == "i8" else ("f32", "0.0")
        shape, consumer = (self.rows, COLUMNS), "wgmma" if self.unit == "wgmma" else "mma"
        lanes = TensorLayout(shape, 4, 64 if self.rows == 64 else 128)
        registers = wgmma_accumulator(shape, self.warps) if self.unit == "wgmma" else lanes.registers(self.warps)
        multiply = f"""
  %none = arith.constant dense<{zero}> : !sum
  %started = tile_gpu.wgmma {self.element} %a, %b, %none{self.clause} : !left_slot, !right_slot -> !sum
  %t = tile_gpu.wgmma_wait %started pending 0 : !sum
"""
        if self.unit == "tcgen05":
            multiply = f"""
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!sum_slot]>
  %into = tile_gpu.put_begin %sums : channel<[!sum_slot]>
  %no = arith.constant false
  %yes = arith.constant true
  tile_gpu.tcgen05_mma {self.element} %a, %b into %into accumulate %no{self.clause}
    : !left_slot, !right_slot -> !sum_slot
  {self.skip and f"tile_gpu.tcgen05_mma {self.element} %a, %b into %into accumulate %yes {self.skip}{self.clause}"}
  {self.skip and ": !left_slot, !right_slot -> !sum_slot"}
  tile_gpu.put_commit %sums : channel<[!sum_slot]>
  %total = tile_gpu.get %sums consumer 0 : channel<[!sum_slot]>
  %t = tile_gpu.load_tensor_memory %total : !sum_slot -> !sum
  tile_gpu.release %sums consumer 0 : channel<[!sum_slot]>
"""
        swizzle, left = f"swizzle={self.row_bytes}B", (self.held, self.depth)
        channel = f"stages 1 producer threads consumers [{consumer}] reuse once"
        return f"""
!left = tensor<{self.held}x{self.depth}x{self.element}, "{blocked(left, self.warps, 1, 4)}">
!left_slot = buffer<{self.held}x{self.depth}x{self.element}, shared, contiguous=1 {swizzle}>
!right = tensor<{self.depth}x{COLUMNS}x{self.element}, "{blocked((self.depth, COLUMNS), self.warps, 0, 4)}">
!right_slot = buffer<{self.depth}x{COLUMNS}x{self.element}, shared, contiguous=0 {swizzle}>
!sum = tensor<{self.rows}x{COLUMNS}x{sums}, "{registers}">
!sum_slot = buffer<{self.rows}x{COLUMNS}x{sums}, tensor, {lanes}>
tile_gpu.kernel @k(%p: i64, %q: i64, %r: i64) target "{UNITS[self.unit]}" warps {self.warps} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %depth = arith.constant {self.depth} : i32
  %held = arith.constant {self.held} : i32
  %rows = arith.constant {self.rows} : i32
  %columns = arith.constant {COLUMNS} : i32
  %lefts = tile_gpu.make_channel {channel} : channel<[!left_slot]>
  %rights = tile_gpu.make_channel {channel} : channel<[!right_slot]>
  %x = tile_gpu.load_view %p[%c0, %c0] extents [%held, %depth] strides [%depth, %c1] vector 1 : !left
  %y = tile_gpu.load_view %q[%c0, %c0] extents [%depth, %columns] strides [%c1, %depth] vector 1 : !right
  %put = tile_gpu.put_begin %lefts : channel<[!left_slot]>
  tile_gpu.store_shared %x, %put : !left -> !left_slot
  tile_gpu.put_commit %lefts : channel<[!left_slot]>
  %other = tile_gpu.put_begin %rights : channel<[!right_slot]>
  tile_gpu.store_shared %y, %other : !right -> !right_slot
  tile_gpu.put_commit %rights : channel<[!right_slot]>
  %a = tile_gpu.get %lefts consumer 0 : channel<[!left_slot]>
  %b = tile_gpu.get %rights consumer 0 : channel<[!right_slot]>
{multiply}
  tile_gpu.release %lefts consumer 0 : channel<[!left_slot]>
  tile_gpu.release %rights consumer 0 : channel<[!right_slot]>
  tile_gpu.store_view %t -> %r[%c0, %c0] extents [%rows, %columns] strides [%columns, %c1] vector 1 : !sum
}}
"""

    def ptx(self) -> str:
        return Product.ptx_of(self.text)


def operands(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(rows.held + rows.shifted)
    dtype = DTYPES[rows.element]
    return tuple(random.integers(-4, 5, (count, rows.depth)).astype(dtype) for count in (rows.held, COLUMNS))


def result_of(rows: Rows, allow_unconfirmed: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The result of the simulator, and the exact one."""
    a, b = operands(rows)
    found = np.full((rows.rows, COLUMNS), 99, np.int32 if rows.element == "i8" else np.float32)
    run_ptx(rows.ptx(), [a, b, found], warps=rows.warps, allow_unconfirmed=allow_unconfirmed)
    return found, rows.chosen(a).astype(np.int64) @ b.astype(np.int64).T


def check(rows: Rows) -> None:
    found, exact = result_of(rows)
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("shifted", range(10))
@pytest.mark.parametrize("unit", UNITS)
def test_each_first_row(unit: str, shifted: int) -> None:
    """Row i of the product is that of row `shifted` + i of A."""
    check(Rows(unit, rows=64, held=128, shifted=shifted))


@pytest.mark.parametrize("row_bytes", [32, 64])
@pytest.mark.parametrize("shifted", [1, 2, 6])
@pytest.mark.parametrize("unit", UNITS)
def test_each_swizzle(unit: str, shifted: int, row_bytes: int) -> None:
    check(Rows(unit, rows=64, held=128, shifted=shifted, row_bytes=row_bytes))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("unit", UNITS)
def test_each_type(unit: str, element: str) -> None:
    check(Rows(unit, rows=64, held=128, shifted=3, element=element))


# Rows of images and the rows of the run from one to the next; rows of the product and warps.
PERIODS = [
    ("wgmma", (8, 10), 128, 4),
    ("wgmma", (8, 8), 64, 4),
    ("wgmma", (64, 66), 128, 4),
    ("wgmma", (64, 66), 128, 8),
    ("wgmma", (64, 71), 256, 8),
    ("wgmma", (128, 131), 256, 4),
    ("wgmma", (128, 131), 256, 8),
    ("wgmma", (128, 131), 256, 16),
    ("wgmma", (64, 65), 256, 16),
    ("wgmma", (512, 514), 128, 4),
    ("tcgen05", (8, 10), 128, 4),
    ("tcgen05", (8, 11), 64, 4),
    ("tcgen05", (64, 66), 64, 4),
    ("tcgen05", (128, 130), 256, 4),
    ("tcgen05", (8, 9), 256, 4),
]


@pytest.mark.parametrize("shifted", [0, 1, 5])
@pytest.mark.parametrize(("unit", "every", "rows", "warps"), PERIODS, ids=str)
def test_rows_of_images(unit: str, every: tuple[int, int], rows: int, warps: int, shifted: int) -> None:
    """After each n rows of A those follow that start p rows later, in each block and warpgroup."""
    check(
        Rows(unit, rows=rows, held=512 if rows == 256 else 256, shifted=shifted, every=every, warps=warps, row_bytes=64)
    )


def test_skipped_rows_of_two_blocks() -> None:
    """256 rows have 8 words, those of each block of 128 rows in its instruction."""
    words = [1, 0, 0, 1 << 31, 2, 0, 0, 1 << 30]
    names = [f"%w{number}" for number in range(len(words))]
    rows = Rows("tcgen05", rows=256, held=512, shifted=1, row_bytes=64, skip=f"skip [{', '.join(names)}]")
    signed = [word - (1 << 32) if word >> 31 else word for word in words]
    constants = "".join(f"  {name} = arith.constant {word} : i32\n" for name, word in zip(names, signed, strict=True))
    a, b = operands(rows)
    found = np.full((256, COLUMNS), 99, np.float32)
    text = rows.text.replace("  %none", constants + "  %none", 1).replace("  %sums =", constants + "  %sums =", 1)
    run_ptx(Product.ptx_of(text), [a, b, found], allow_unconfirmed=True)
    exact = 2 * rows.chosen(a).astype(np.int64) @ b.astype(np.int64).T
    exact[[0, 127, 129, 254]] //= 2
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize(("shifted", "every"), [(3, None), (0, (8, 10))])
@pytest.mark.parametrize("unit", UNITS)
def test_the_simulator_demands_allow_unconfirmed(unit: str, shifted: int, every: tuple[int, int] | None) -> None:
    """NVIDIA does not say how the addresses of such rows are formed. Whole groups of eight rows need no permission."""
    rows = Rows(unit, rows=64, held=128, shifted=shifted, every=every)
    expected = "starts at row 3 of its swizzle" if every is None else "whose groups of eight rows are 1280 bytes apart"
    with pytest.raises(ptxsim.Trap, match=expected) as trap:
        result_of(rows, allow_unconfirmed=False)
    assert trap.value.kind == "unconfirmed"
    found, exact = result_of(Rows(unit, rows=64, held=128, shifted=8), False)
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("unit", UNITS)
def test_the_start_of_the_descriptor_moves(unit: str) -> None:
    """Five rows of 128 bytes are 40 units of 16 bytes; groups of eight rows are 9 rows apart in bits 32 to 45."""
    ptx = Rows(unit, shifted=5, every=(8, 9)).ptx()
    assert re.search(r"add\.s64 %rd\d+, %rd\d+, 40;", ptx)
    descriptors = [int(bits, 16) for bits in re.findall(r"or\.b64 %rd\d+, %rd\d+, 0x([0-9a-f]{16});", ptx)]
    assert {bits >> 32 & 0x3FFF for bits in descriptors} == {72, 64}


@pytest.mark.parametrize("unit", UNITS)
def test_ptxas_accepts_the_multiply(unit: str) -> None:
    assert assemble(Rows(unit, shifted=5, every=(8, 9)).ptx(), UNITS[unit]).warnings == ()
