// RUN: tilec opt %s --passes partition-roles,pipeline,advance-loads,expand-schedules --target sm_100a
// Two loads of a loop that compare a position that depends on its counter with an extent need no branch: if the iteration does not exist,
// the tile is outside of the view, and no memory is read. Both are after the last use of the two tiles. The rows and columns of the first load
// begin at the same position: the columns are moved, as its rows are not compared.

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
    %x = tile_gpu.load_view %p[%k, %k] extents [%n, %n] strides [%n, %one] vector 8 along 1 inbounds [true, false] early : !t
    %h = arith.addf %x, %x : !t
    %y = tile_gpu.load_view %p[%k, %one] extents [%n, %n] strides [%n, %one] vector 8 along 1 inbounds [false, true] early : !t
    %z = arith.mulf %h, %y : !t
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
// CHECK-NOT: scf.if
// CHECK: scf.for [[K:%[^ ]*]] = {{.*}} iter_args([[X:%[^ ]*]] = {{.*}}, [[Y:%[^ ]*]] = {{.*}})
// CHECK-NOT: load_view
// CHECK:   arith.addf [[X]], [[X]]
// CHECK:   arith.mulf {{.*}}, [[Y]]
// CHECK:   put_commit
// CHECK:   [[LEFT:%.*]] = arith.subi {{.*}}, [[K]]
// CHECK:   [[EXISTS:%.*]] = arith.cmpi ult, {{.*}}, [[LEFT]]
// CHECK:   [[NEXT:%.*]] = arith.addi [[K]]
// CHECK:   [[COLUMN:%.*]] = arith.select [[EXISTS]], [[NEXT]], %arg1
// CHECK:   [[X_NEXT:%.*]] = tile_gpu.load_view %arg0{{\[}}[[NEXT]], [[COLUMN]]]
// CHECK:   [[ROW:%.*]] = arith.select [[EXISTS]], [[NEXT]], %arg1
// CHECK:   [[Y_NEXT:%.*]] = tile_gpu.load_view %arg0{{\[}}[[ROW]], {{.*}}
// CHECK-NOT: scf.if
// CHECK:   scf.yield [[X_NEXT]], [[Y_NEXT]]
