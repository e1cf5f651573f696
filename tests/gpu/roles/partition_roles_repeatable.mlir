// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A scalar of a repeatable load decides in two roles: each has its own copy. A load that only compute uses stays there.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!one = tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : channel<[!a]>
  %flags = tile_gpu.load_view %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] repeatable : !one
  %flag = tile_gpu.extract %flags[%zero] : !one -> i32
  %set = arith.cmpi sgt, %flag, %zero : i32
  %other = tile_gpu.load_view %p[%one] extents [%n] strides [%one] vector 1 inbounds [false] repeatable : !one
  %sum = arith.addi %other, %flags : !one
  tile_gpu.store_view %sum -> %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] : !one
  scf.if %set {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%zero, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: tile_gpu.load_view
// CHECK: tile_gpu.load_view
// CHECK: tile_gpu.store_view
// CHECK: scf.if
// CHECK: } load warps 1 {
// CHECK: tile_gpu.load_view {{.*}} repeatable
// CHECK-NOT: tile_gpu.load_view
// CHECK: scf.if
// CHECK: tile_gpu.tma_load
