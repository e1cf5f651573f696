// RUN: tilec opt %s --passes partition-roles,pipeline,advance-loads,expand-schedules --target sm_100a
// A load whose rows have indices is in a branch: a row is at the sum of the position and an index, which may be negative, so that
// no position is outside of the view for all rows.

!t = tensor<128x64xf16, "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64">
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!w = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
!i = tensor<128xi32, "register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %rows = arith.constant dense<-1> : !i
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %left = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!a]>
  %right = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!w]>
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %sums : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %z = tile_gpu.load_view %p[%k, %k] extents [%n, %n] strides [%n, %one] indices %rows along 0 vector 8 along 1 inbounds [false, true] early : !t
    %s0 = tile_gpu.put_begin %left : channel<[!a]>
    tile_gpu.store_shared %z, %s0 : !t -> !a
    tile_gpu.put_commit %left : channel<[!a]>
    %s1 = tile_gpu.put_begin %right : channel<[!w]>
    tile_gpu.tma_load %map[%k, %zero] -> %s1 of %right : !w
    tile_gpu.put_commit %right : channel<[!w]>
    %g0 = tile_gpu.get %left consumer 0 : channel<[!a]>
    %g1 = tile_gpu.get %right consumer 0 : channel<[!w]>
    %b = tile_gpu.view_buffer %g1 : !w -> !b
    tile_gpu.tcgen05_mma f16 %g0, %b into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %right consumer 0 : channel<[!w]>
    tile_gpu.release %left consumer 0 : channel<[!a]>
  }
  tile_gpu.put_commit %sums : channel<[!d]>
  %r = tile_gpu.get %sums consumer 0 : channel<[!d]>
  tile_gpu.release %sums consumer 0 : channel<[!d]>
}

// CHECK: roles compute
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     tile_gpu.load_view %arg0
// CHECK:   } else {
