// RUN: tilec opt %s --passes copy-rows --target sm_90a
// Loads that stay: pointers that a loop carries, a padding of -0, a tile that is also stored, and rows that are aligned to 2 bytes.

!t = tensor<64x64xf16, "register=(0,1)(0,2)(0,4)(32,0)(0,8)(0,16) lane=(0,32)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x64">
!p = tensor<64x64xi64, "register=(0,1)(0,2)(0,4)(32,0)(0,8)(0,16) lane=(0,32)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x64">
!d = tensor<64x64xf32, "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64">
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %w = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %x = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %y = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %z = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %start = tile_gpu.splat %p : i64 -> !p
  %step = arith.constant dense<128> : !p
  %sums = arith.constant dense<0.0> : !d
  %r:2 = scf.for %k = %zero to %n step %one iter_args(%s = %sums, %at = %start) -> (!d, !p) : i32 {
    %t0 = tile_gpu.load_global %at vector 8 repeatable : !p -> !t
    %s0 = tile_gpu.put_begin %w : channel<[!a]>
    tile_gpu.store_shared %t0, %s0 : !t -> !a
    tile_gpu.put_commit %w : channel<[!a]>
    %t1 = tile_gpu.load_view %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 padding "neg_zero" repeatable : !t
    %s1 = tile_gpu.put_begin %x : channel<[!a]>
    tile_gpu.store_shared %t1, %s1 : !t -> !a
    tile_gpu.put_commit %x : channel<[!a]>
    %t2 = tile_gpu.load_view %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 repeatable : !t
    tile_gpu.store_view %t2 -> %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 : !t
    %s2 = tile_gpu.put_begin %y : channel<[!a]>
    tile_gpu.store_shared %t2, %s2 : !t -> !a
    tile_gpu.put_commit %y : channel<[!a]>
    %t3 = tile_gpu.load_view %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 1 repeatable : !t
    %s3 = tile_gpu.put_begin %z : channel<[!a]>
    tile_gpu.store_shared %t3, %s3 : !t -> !a
    tile_gpu.put_commit %z : channel<[!a]>
    %next = arith.addi %at, %step : !p
    scf.yield %s, %next : !d, !p
  }
}

// CHECK-NOT: producer copies
// CHECK-NOT: copy_
// CHECK: scf.yield
