"""Stores of threads in tensor memory keep their order where one completes another, or both write one place."""

from __future__ import annotations

import pytest

from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.loops.reorder_body import dependences
from tilec.text_input.stage_module import read_stage_module

KERNEL = """
#w = "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x32"
!s = buffer<128x32xf32, tensor, lanes=128>
!t = tensor<128x32xf32, #w>
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %tile = arith.constant dense<0.0> : !t
  %x = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!s]>
  %y = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!s]>
  %a = tile_gpu.slot %x : channel<[!s]>
  %b = tile_gpu.slot %y : channel<[!s]>
  scf.for %i = %zero to %n step %one : i32 id 0 {{
    tile_gpu.store_tensor_memory %tile, %a{first} : !t -> !s
    tile_gpu.store_tensor_memory %tile, {second} : !t -> !s
  }}
}}
"""


@pytest.mark.parametrize(
    ("first", "second", "is_ordered"),
    [("", "%b", False), ("", "%a", True), (" pending", "%b", True), ("", "%b pending", True), (" pending", "%a", True)],
)
def test_second_store_follows_the_first(first, second, is_ordered):
    module = read_stage_module(KERNEL.format(first=first, second=second), "kernel.mlir")
    (loop,) = operations_named(module, ("scf.for",))
    operations = [op.operation for op in loop.operation.regions[0].blocks[0]][:-1]
    assert dependences(operations) == [set(), {0} if is_ordered else set()]
