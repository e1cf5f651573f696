// RUN: tilec opt %s --passes partition-roles,pipeline,advance-loads,expand-schedules --target sm_100a
// Threads load a tile for the multiply of each iteration. The load runs some iterations ahead, behind the signal that the tile in
// whose registers it loads is stored; the body is repeated for each tile on its way. The load that is not `early` stays.

!t = tensor<128x64xf16, "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64">
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!w = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %left = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring : channel<[!a]>
  %right = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!w]>
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %sums : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %x = tile_gpu.load_view %p[%zero, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 inbounds [true, true] early : !t
    %y = tile_gpu.load_view %p[%one, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 inbounds [true, true] : !t
    %z = arith.mulf %x, %y : !t
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
// CHECK: [[FIRST:%.*]] = scf.if
// CHECK:   load_view
// CHECK:     early
// CHECK: else
// CHECK:   arith.constant dense<0.0
// CHECK: [[SECOND:%.*]] = scf.if
// CHECK:   load_view
// CHECK:     early
// CHECK: scf.for {{.*}} iter_args([[X:%.*]] = [[FIRST]], [[Y:%.*]] = [[SECOND]])
// CHECK:   [[OTHER:%.*]] = tile_gpu.load_view
// CHECK:   arith.mulf [[X]], [[OTHER]]
// CHECK:   store_shared
// CHECK:   put_commit
// CHECK:   arith.cmpi ult
// CHECK:   [[NEXT:%.*]] = scf.if
// CHECK:     load_view
// CHECK:       early
// CHECK:   scf.yield [[Y]], [[NEXT]]
// CHECK: } {tile_gpu.repeats = 2 : i32}
