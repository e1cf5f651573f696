// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A role omits branches and loops whose condition or bounds only `compute` knows, if it has no operation inside.

!t = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
!one = tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  %count = scf.for %k = %zero to %n step %one iter_args(%before = %zero) -> (i32) : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%k, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %at = tile_gpu.view_buffer %ga : !a -> !t
    tile_gpu.tcgen05_mma f16 %ga, %at into %d accumulate %yes : !a, !t -> !d
    tile_gpu.release %ca consumer 0 : channel<[!a]>
    %flags = tile_gpu.load_view %p[%k] extents [%n] strides [%one] vector 1 inbounds [false] : !one
    %flag = tile_gpu.extract %flags[%zero] : !one -> i32
    %set = arith.cmpi sgt, %flag, %zero : i32
    %after = scf.if %set -> (i32) {
      %more = arith.addi %before, %one : i32
      %tile = tile_gpu.splat %more : i32 -> !one
      tile_gpu.store_view %tile -> %p[%k] extents [%n] strides [%one] vector 1 inbounds [false] : !one
      scf.yield %more : i32
    } else {
      scf.yield %before : i32
    }
    scf.yield %after : i32
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
  %last = scf.for %j = %zero to %count step %one iter_args(%previous = %zero) -> (i32) : i32 {
    %tile = tile_gpu.splat %previous : i32 -> !one
    tile_gpu.store_view %tile -> %p[%j] extents [%n] strides [%one] vector 1 inbounds [false] : !one
    scf.yield %j : i32
  }
  %tile = tile_gpu.splat %last : i32 -> !one
  tile_gpu.store_view %tile -> %p[%zero] extents [%n] strides [%one] vector 1 inbounds [false] : !one
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: %[[COUNT:.*]] = scf.for
// CHECK: scf.if
// CHECK: tile_gpu.get
// CHECK: scf.for {{.*}} to %[[COUNT]] step
// CHECK: } load warps 1 {
// CHECK-NOT: scf.if
// CHECK-NOT: iter_args
// CHECK: scf.for {{.*}} to %arg1 step
// CHECK: tile_gpu.tma_load
// CHECK-NOT: scf.for
// CHECK: } mma warps 1 {
// CHECK-NOT: scf.if
// CHECK-NOT: iter_args
// CHECK: scf.for {{.*}} to %arg1 step
// CHECK: tile_gpu.tcgen05_mma
// CHECK-NOT: scf.for
// CHECK: tile_gpu.put_commit
