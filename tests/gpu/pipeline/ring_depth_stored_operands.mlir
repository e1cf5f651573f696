// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// Threads load %loaded in each iteration and store it in a ring, which has two slots: one is multiplied while they
// store the next. The tile of %first is the same in each iteration, and that of %carried derives from a carried one.

!t = tensor<128x64xf16, "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64">
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!w = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %same = arith.constant dense<1.0> : !t
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %loaded = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!a]>
  %first = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!a]>
  %carried = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!a]>
  %right = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!w]>
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %sums : channel<[!d]>
  %last = scf.for %k = %zero to %n step %one iter_args(%old = %same) -> (!t) : i32 {
    %x = tile_gpu.load_view %p[%k, %zero] extents [%n, %n] strides [%n, %one] vector 8 along 1 inbounds [true, true] : !t
    %y = arith.mulf %x, %same : !t
    %s0 = tile_gpu.put_begin %loaded : channel<[!a]>
    tile_gpu.store_shared %y, %s0 : !t -> !a
    tile_gpu.put_commit %loaded : channel<[!a]>
    %s1 = tile_gpu.put_begin %first : channel<[!a]>
    tile_gpu.store_shared %same, %s1 : !t -> !a
    tile_gpu.put_commit %first : channel<[!a]>
    %z = arith.addf %x, %old : !t
    %s2 = tile_gpu.put_begin %carried : channel<[!a]>
    tile_gpu.store_shared %z, %s2 : !t -> !a
    tile_gpu.put_commit %carried : channel<[!a]>
    %s3 = tile_gpu.put_begin %right : channel<[!w]>
    tile_gpu.tma_load %map[%k, %zero] -> %s3 of %right : !w
    tile_gpu.put_commit %right : channel<[!w]>
    %g0 = tile_gpu.get %loaded consumer 0 : channel<[!a]>
    %g1 = tile_gpu.get %first consumer 0 : channel<[!a]>
    %g2 = tile_gpu.get %carried consumer 0 : channel<[!a]>
    %g3 = tile_gpu.get %right consumer 0 : channel<[!w]>
    %b = tile_gpu.view_buffer %g3 : !w -> !b
    tile_gpu.tcgen05_mma f16 %g0, %b into %d accumulate %yes : !a, !b -> !d
    tile_gpu.tcgen05_mma f16 %g1, %b into %d accumulate %yes : !a, !b -> !d
    tile_gpu.tcgen05_mma f16 %g2, %b into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %right consumer 0 : channel<[!w]>
    tile_gpu.release %carried consumer 0 : channel<[!a]>
    tile_gpu.release %first consumer 0 : channel<[!a]>
    tile_gpu.release %loaded consumer 0 : channel<[!a]>
    scf.yield %z : !t
  }
  tile_gpu.put_commit %sums : channel<[!d]>
  %r = tile_gpu.get %sums consumer 0 : channel<[!d]>
  tile_gpu.release %sums consumer 0 : channel<[!d]>
}

// CHECK: make_channel stages 2 producer threads consumers [mma] reuse ring wanted 2
// CHECK-NEXT: make_channel stages 1 producer threads consumers [mma] reuse ring :
// CHECK-NEXT: make_channel stages 1 producer threads consumers [mma] reuse ring :
// CHECK-NEXT: producer tma
