"""wgmma with its lhs in registers: each element type, two warpgroups, two blocks of rows, and the refusals."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from simulated import DTYPES, run_ptx

from tilec.dialect.mlir import passmanager
from tilec.errors import UnsupportedError
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.wgmma import wgmma_accumulator, wgmma_operand
from tilec.lowering.ptx.emit import emit
from tilec.text_input.stage_module import read_stage_module

COLUMNS = 16
TYPES = DTYPES | {"f8E5M2": ml_dtypes.float8_e5m2}


def product(element: str, rows: int, depth: int, warps: int, lhs: LinearLayout, flags: str = "") -> str:
    """D = A * B: A is loaded in the layout `lhs`, B (transposed, so K-major) goes through shared memory."""
    sums = wgmma_accumulator((rows, COLUMNS), warps)
    total, zero = ("i32", "0") if element == "i8" else ("f32", "0.0")
    swizzle = {32: "32B", 64: "64B"}[depth * np.dtype(TYPES[element]).itemsize]
    return f"""
!a = tensor<{rows}x{depth}x{element}, "{lhs}">
!b = tensor<{depth}x{COLUMNS}x{element}, "{blocked((depth, COLUMNS), warps)}">
!d = tensor<{rows}x{COLUMNS}x{total}, "{sums}">
!s = buffer<{depth}x{COLUMNS}x{element}, shared, contiguous=0 swizzle={swizzle}>
!c = channel<[!s]>
tile_gpu.kernel @k(%p: i64, %q: i64, %r: i64) target "sm_90a" warps {warps} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant {rows} : i32
  %depth = arith.constant {depth} : i32
  %columns = arith.constant {COLUMNS} : i32
  %ring = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse once : !c
  %a = tile_gpu.load_view %p[%zero, %zero] extents [%rows, %depth] strides [%depth, %one] vector 1 : !a
  %b = tile_gpu.load_view %q[%zero, %zero] extents [%depth, %columns] strides [%one, %depth] vector 1 : !b
  %put = tile_gpu.put_begin %ring : !c
  tile_gpu.store_shared %b, %put : !b -> !s
  tile_gpu.put_commit %ring : !c
  %got = tile_gpu.get %ring consumer 0 : !c
  %none = arith.constant dense<{zero}> : !d
  %sum = tile_gpu.wgmma {element} {flags} %a, %got, %none : !a, !s -> !d
  %done = tile_gpu.wgmma_wait %sum pending 0 : !d
  tile_gpu.release %ring consumer 0 : !c
  tile_gpu.store_view %done -> %r[%zero, %zero] extents [%rows, %columns] strides [%columns, %one] vector 1 : !d
}}
"""


def ptx_of_stage(text: str) -> str:
    module = read_stage_module(text, "<k>")
    with module.context:
        lowered = convert(module)
        passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(lowered.operation)
        return emit(lowered)


def simulated_product(ptx: str, element: str, rows: int, depth: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """The simulator's D and numpy's, of small integers, which every type has."""
    random = np.random.default_rng(1)
    low = -3 if element != "i8" else -100
    left = random.integers(low, 4, (rows, depth)).astype(TYPES[element])
    right = random.integers(low, 4, (COLUMNS, depth)).astype(TYPES[element])
    result = np.zeros((rows, COLUMNS), np.int32 if element == "i8" else np.float32)
    run_ptx(ptx, [left, right, result], warps=warps)
    exact = left.astype(np.float64) @ right.astype(np.float64).T
    return result, exact.astype(result.dtype)


@pytest.mark.parametrize("element", TYPES)
def test_product_is_exact(element):
    depth = 64 // np.dtype(TYPES[element]).itemsize
    lhs = wgmma_operand((64, depth), 4, np.dtype(TYPES[element]).itemsize)
    ptx = ptx_of_stage(product(element, 64, depth, 4, lhs))
    found, expected = simulated_product(ptx, element, 64, depth, 4)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("rows", "warps"), [(128, 4), (128, 8), (256, 8)])
def test_each_warpgroup_has_its_rows(rows, warps):
    ptx = ptx_of_stage(product("f16", rows, 32, warps, wgmma_operand((rows, 32), warps, 2)))
    found, expected = simulated_product(ptx, "f16", rows, 32, warps)
    np.testing.assert_array_equal(found, expected)


def test_promoted_sums_read_the_registers():
    ptx = ptx_of_stage(product("f8E4M3FN", 64, 64, 4, wgmma_operand((64, 64), 4, 1), "promote"))
    found, expected = simulated_product(ptx, "f8E4M3FN", 64, 64, 4)
    np.testing.assert_array_equal(found, expected)


def test_lhs_has_no_descriptor_and_no_transposition():
    """PTX ISA 9.7.15.5.2: four registers, both scales, and the transposition of B alone."""
    ptx = ptx_of_stage(product("f16", 64, 32, 4, wgmma_operand((64, 32), 4, 2)))
    pattern = r"wgmma\.mma_async\S+ \{[^}]*\},\s*\{(%r\d+,?\s*){4}\}, %rd\d+, 1, 1, 1, 0;"
    assert len(re.findall(pattern, ptx)) == 2


def test_registers_written_in_flight_are_reported():
    """The registers of the lhs are written after the multiply, and before it is complete."""
    ptx = ptx_of_stage(product("f16", 64, 32, 4, wgmma_operand((64, 32), 4, 2)))
    (register,) = re.findall(r"wgmma\.mma_async\S+ \{[^}]*\},\s*\{(%r\d+)", ptx)[:1]
    early = ptx.replace("wgmma.commit_group.sync.aligned;", f"wgmma.commit_group.sync.aligned;\nmov.b32 {register}, 0;")
    assert early != ptx
    with pytest.raises(Exception, match="is overwritten before wgmma.wait_group has completed"):
        simulated_product(early, "f16", 64, 32, 4)


def test_another_layout_is_refused():
    text = product("f16", 64, 32, 4, blocked((64, 32), 4))
    with pytest.raises(UnsupportedError, match="expected an lhs in the layout of wgmma, but got register="):
        ptx_of_stage(text)


def test_another_element_is_refused():
    text = product("f16", 64, 32, 4, wgmma_operand((64, 32), 4, 2)).replace("64x32xf16", "64x32xbf16")
    with pytest.raises(Exception, match="expected operands of one element, or .*, but got bf16 and f16"):
        ptx_of_stage(text)
