"""Tiles of numbers of elements are computed in the loop that uses them where a role lacks registers beside them."""

from __future__ import annotations

import pytest

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.roles.sink_numbers import sink_numbers
from tilec.text_input.stage_module import read_stage_module

# 128 registers of each of 128 threads.
HEAD = """
#line = "register=(1)(2)(4)(8)(16)(32)(64) lane=(128)(256)(512)(1024)(2048) warp=(4096)(8192) shape=16384"
!numbers = tensor<16384xi32, #line>
!tile = tensor<16384xf32, #line>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile_gpu.roles compute warps 4 {
"""
LOAD = '{} = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 padding "zero" : !tile\n'
STORE = "tile_gpu.store_view {} -> %p[%zero] extents [%n] strides [%one] vector 1 : !tile\n"
NUMBERS = "%i = tile_gpu.iota : !numbers\n%f = arith.sitofp %i : !numbers to !tile\n"
INNER = "scf.for %k = %zero to %n step %one : i32 {\n" + LOAD.format("%z") + STORE.format("%z") + "}\n"
PRODUCT = "%y = arith.mulf %x, %f : !tile\n" + STORE.format("%y")


def loop(body: str) -> str:
    return "scf.for %j = %zero to %n step %one : i32 {\n" + body + "}\n"


def block_of_numbers(body: str) -> str:
    """The operation around the numbers after the pass."""
    module = read_stage_module(HEAD + body + "}\n}\n", "<k>")
    with module.context:
        (kernel,) = operations_named(module, (KernelOp.OPERATION_NAME,))
        sink_numbers(kernel)
        module.operation.verify()
        (found,) = operations_named(module, ("arith.sitofp",))
        return found.operation.parent.name


CASES = {
    "used around an inner loop": (NUMBERS + loop(LOAD.format("%x") + INNER + PRODUCT), "scf.for"),
    "computed from elements in memory": (
        LOAD.format("%w") + "%i = arith.fptosi %w : !tile to !numbers\n%f = arith.sitofp %i : !numbers to !tile\n"
        + loop(LOAD.format("%x") + INNER + PRODUCT),
        "tile_gpu.roles",
    ),
    "used in an innermost loop": (NUMBERS + LOAD.format("%x") + loop(PRODUCT + STORE.format("%x")), "tile_gpu.roles"),
    "used after the loop too": (
        NUMBERS + loop(LOAD.format("%x") + INNER + PRODUCT) + STORE.format("%f"), "tile_gpu.roles"
    ),
    "with registers for all": (
        NUMBERS + loop("scf.for %k = %zero to %n step %one : i32 { }\n" + STORE.format("%f")), "tile_gpu.roles"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    body, expected = CASES[name]
    assert block_of_numbers(body) == expected
