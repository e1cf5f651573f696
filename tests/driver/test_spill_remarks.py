"""The remarks of a kernel that spills name the role whose tiles occupy the largest part of its registers."""

from __future__ import annotations

from tilec.driver.spill_remarks import spill_remarks
from tilec.text_input.stage_module import read_stage_module

# A thread of four warps has 128 of the 128x128 elements. The role `load` needs more than its 24 registers for addresses
# and predicates (live_registers.py), but has no tiles.
KERNEL = """
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) "
  "warp=(32,0)(64,0) shape=128x128"
!tile = tensor<128x128xf32, #rows>
!shared = buffer<128x128xf32, shared, contiguous=1 swizzle=128B>
!ring = channel<[!shared]>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [32, 128] swizzle 128B fill zero
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : !ring
  tile_gpu.roles compute warps 4 registers 232 {
    scf.for %i = %zero to %n step %one : i32 {
      %slot = tile_gpu.get %ring consumer 0 : !ring
      %tile = tile_gpu.load_shared %slot : !shared -> !tile
      tile_gpu.release %ring consumer 0 : !ring
      tile_gpu.store_view %tile -> %p[%i, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
    }
  } load warps 1 registers 24 {
    scf.for %i = %zero to %n step %one : i32 {
      %slot = tile_gpu.put_begin %ring : !ring
      tile_gpu.tma_load %map[%zero, %i] -> %slot of %ring : !shared
      tile_gpu.put_commit %ring : !ring
    }
  }
}
"""


def test_role_with_the_tiles_is_named() -> None:
    place, tile = (remark.message for remark in spill_remarks(read_stage_module(KERNEL, "kernel.mlir")))
    assert place.startswith("role 'compute' needs the most registers here: ") and "and it has 232: " in place
    assert tile == "128 registers per thread hold a tile of 128x128 f32 at the operation that needs the most registers"
