// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A kernel is not split if a role has operations under a condition that only `compute` knows: a bit, which does not cross.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!bits = tensor<4xi1, "register=(1)(2) lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=4">
!numbers = tensor<4xi32, "register=(1)(2) lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=4">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %flags = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] : !numbers
  %none = arith.constant dense<0> : !numbers
  %bits = arith.cmpi sgt, %flags, %none : !numbers
  %set = tile_gpu.extract %bits[%zero] : !bits -> i1
  scf.if %set {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%zero, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK-NOT: tile_gpu.roles
// CHECK: scf.if
// CHECK: tile_gpu.tma_load
