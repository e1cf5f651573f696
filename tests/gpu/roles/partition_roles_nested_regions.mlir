// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A role's copy of a loop uses the role's own values at every depth of nested regions.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!x = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse once : channel<[!a]>
  %sa = tile_gpu.put_begin %ca : channel<[!a]>
  tile_gpu.tma_load %map[%zero, %zero] -> %sa of %ca : !a
  tile_gpu.put_commit %ca : channel<[!a]>
  %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
  %x = tile_gpu.load_shared %ga : !a -> !x
  %end = scf.while (%i = %zero) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    scf.if %more {
      scf.if %more {
        tile_gpu.store_shared %x, %ga : !x -> !a
      }
    }
    scf.condition(%more) %i : i32
  } do (%i: i32) {
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  tile_gpu.release %ca consumer 0 : channel<[!a]>
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: %[[HELD:.*]] = tile_gpu.get
// CHECK: %[[TILE:.*]] = tile_gpu.load_shared %[[HELD]]
// CHECK: scf.while
// CHECK: tile_gpu.store_shared %[[TILE]], %[[HELD]]
// CHECK: } load warps 1 {
// CHECK-NOT: scf.while
// CHECK: tile_gpu.tma_load
