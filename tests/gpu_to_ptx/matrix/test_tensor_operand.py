"""tcgen05.mma with operand A in tensor memory: packed by threads, multiplied, and used again by the next step."""

from __future__ import annotations

import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from simulated import run_ptx
from tensor_operand import COLUMNS, Product

from tilec.errors import CompileError, UnsupportedError, VerificationError
from tilec.runtime.cubin.cubin import assemble

HALF = Product("f16", "f32", 2)
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "i8": np.int8,
    "u8": np.uint8,
    "f32": np.float32,
    "i32": np.int32,
}
PRODUCTS = {
    "f16": HALF,
    "bf16": Product("bf16", "f32", 2),
    "tf32": Product("tf32", "f32", 4),
    "f8E4M3FN": Product("f8E4M3FN", "f32", 1),
    "f8E5M2": Product("f8E5M2", "f32", 1),
    "i8": Product("i8", "i32", 1),
    "u8 x i8": Product("i8", "i32", 1, signs="lhs_unsigned "),
    "64 rows": replace(HALF, rows=64),
    "64 rows of i8": Product("i8", "i32", 1, rows=64),
    "64 rows of tf32": Product("tf32", "f32", 4, rows=64),
    "256 rows": replace(HALF, rows=256),
    "eight warps": replace(HALF, warps=8),
    "one slot": replace(HALF, stages=1),
    "one role": replace(HALF, roles=False),
    "f16 sums": Product("f16", "f16", 2),
}


def operands(product: Product, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Small integers, whose sums are exact in every type."""
    random = np.random.default_rng(7)
    limit = 3 if product.accumulator == "f16" else 8
    depth = steps * product.depth
    left = random.integers(0 if product.signs else -limit, limit + 1, (product.rows, depth))
    right = random.integers(-limit, limit + 1, (depth, COLUMNS))
    if product.element == "i8":
        left, right = left * 15, right * 15
    dtype = DTYPES[product.element]
    return left.astype(np.uint8 if product.signs else dtype), right.astype(dtype)


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name):
    product, steps = PRODUCTS[name], 3
    left, right = operands(product, steps)
    result = np.zeros((product.rows, COLUMNS), DTYPES[product.accumulator])
    run_ptx(product.ptx(), [left, right, result, steps], warps=product.warps + product.roles)
    assert np.array_equal(result, left.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize("name", ["f16", "i8", "64 rows", "256 rows"])
def test_ptxas_accepts_the_product(name):
    assert assemble(PRODUCTS[name].ptx(), "sm_100a").warnings == ()


def test_a_pair_of_elements_is_one_register_and_a_thread_stores_its_row():
    """128 rows of 64 halves: 32 cells per lane in one store, four steps of eight columns."""
    ptx = HALF.ptx()
    (stored,) = re.findall(r"tcgen05\.st\.sync\.aligned\.(\S+)\.b32", ptx)
    assert stored == "32x32b.x32"
    assert len(re.findall(r"tcgen05\.mma\.cta_group::1\.kind::f16 \[%r\d+\], \[%r\d+\], %rd\d+,", ptx)) == 4
    order = ["tcgen05.st", "tcgen05.wait::st", "tcgen05.fence::before_thread_sync", "mbarrier.arrive"]
    positions = [ptx.index(text, ptx.index("tcgen05.st")) for text in order]
    assert positions == sorted(positions)


# Fence -> what the simulator reports without it.
FENCES = {
    "tcgen05.wait::st": "overwritten before tcgen05.wait::st has completed",
    "tcgen05.fence::before_thread_sync": "tensor memory",
    "tcgen05.fence::after_thread_sync": "tensor memory",
}


@pytest.mark.parametrize("fence", FENCES)
def test_fences_are_necessary(fence):
    """Without the fences of one kind the simulator reports a race on tensor memory, or a register that is in use."""
    lines = [line for line in HALF.ptx().splitlines() if fence not in line]
    left, right = operands(HALF, 3)
    with pytest.raises(Exception, match=FENCES[fence]):
        run_ptx("\n".join(lines), [left, right, np.zeros((128, COLUMNS), np.float32), 3], warps=5)


@pytest.mark.parametrize("name", ["f16", "i8", "64 rows"])
def test_the_first_multiply_does_not_read_the_accumulator(name):
    """With the predicate of the later steps, which is true, the simulator reports memory that nothing has written."""
    lines = PRODUCTS[name].ptx().splitlines()
    multiplies = [line for line in lines if "tcgen05.mma" in line]
    first, later = (re.search(r", (%p\d+);", line)[1] for line in (multiplies[0], multiplies[-1]))
    assert first != later and "tcgen05.st" not in "".join(lines).replace("tcgen05.st.sync.aligned.", "", 1)
    mutant = [line.replace(f", {first};", f", {later};") if "tcgen05.mma" in line else line for line in lines]
    left, right = operands(PRODUCTS[name], 3)
    with pytest.raises(Exception, match="uninitialised: 'tcgen05.mma"):
        run_ptx("\n".join(mutant), [left, right, np.zeros((left.shape[0], COLUMNS), np.float32), 3], warps=5)


def test_load_returns_what_was_stored():
    """The consumer is threads: packed cells are separated into elements."""
    product = Product("f16", "f16", 2, roles=False)
    text = product.text[: product.text.index("%sum =")]
    text = text.replace("consumers [mma] reuse ring : !left_ring", "consumers [threads] reuse ring : !left_ring")
    text += """
  %k = arith.constant 0 : i32
  %x = tile_gpu.load_view %p[%k, %k] extents [%rows, %depth] strides [%depth, %one] vector 1 padding "zero" : !left
  %slot = tile_gpu.put_begin %left : !left_ring
  tile_gpu.store_tensor_memory %x, %slot : !left -> !left_slot
  tile_gpu.put_commit %left : !left_ring
  %a = tile_gpu.get %left consumer 0 : !left_ring
  %back = tile_gpu.load_tensor_memory %a : !left_slot -> !left
  tile_gpu.release %left consumer 0 : !left_ring
  tile_gpu.store_view %back -> %r[%k, %k] extents [%rows, %depth] strides [%depth, %one] vector 1 : !left
}
"""
    left = np.arange(128 * 64).reshape(128, 64).astype(np.float16)
    result = np.zeros_like(left)
    run_ptx(Product.ptx_of(text), [left, left, result, 1])
    assert np.array_equal(result, left)


REFUSALS = {
    "lanes=128 packed": ("lanes=128", "expected lhs in tensor memory with the layout 'lanes=128 packed'"),
    "128x64xf16, tensor, lanes=128 packed": (
        "128x64xf16, tensor, lanes=64 packed",
        "expected lhs in tensor memory with the layout 'lanes=128 packed'",
    ),
    "64xf32, tensor, lanes=128": (
        "64xf32, tensor, lanes=128 packed",
        "expected an accumulator with one element per cell",
    ),
}


@pytest.mark.parametrize("found", REFUSALS)
def test_refusals(found):
    replacement, message = REFUSALS[found]
    with pytest.raises(VerificationError, match=message):
        Product.ptx_of(HALF.text.replace(found, replacement))


def test_rows_that_end_within_a_step_are_refused():
    text = HALF.text.replace("128x64xf16", "128x8xf16").replace("64x64xf16", "8x64xf16")
    with pytest.raises(VerificationError, match="expected a multiple of 16 elements of f16 along K, but got 8"):
        Product.ptx_of(text)


def test_a_tile_in_another_layout_is_refused():
    """The message names the layout that stores without an exchange."""
    with pytest.raises(UnsupportedError, match=r"expected a tile in the layout 'register=\(0,1\).*convert_layout"):
        Product.ptx_of(HALF.text.replace("lane=(1,0)(2,0)(4,0)(8,0)(16,0)", "lane=(2,0)(1,0)(4,0)(8,0)(16,0)", 1))


def test_an_unknown_layout_is_refused():
    message = "expected a layout like 'lanes=128' or 'lanes=128 packed', got 'lanes=32 packed'"
    with pytest.raises(CompileError, match=message):
        Product.ptx_of(HALF.text.replace("lanes=128", "lanes=32"))
