// RUN: tilec opt %s --passes copy-rows,partition-roles,pipeline --target sm_90a
// A role of its own copies rows that threads gather by pointers, and a tile of a view. It computes the
// pointers and the mask again, in the layout of its four warps, and loads the number of the first row by itself.

!t = tensor<64x64xf16, "register=(0,1)(0,2)(0,4)(32,0)(0,8)(0,16) lane=(0,32)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x64">
!p = tensor<64x64xi64, "register=(0,1)(0,2)(0,4)(32,0)(0,8)(0,16) lane=(0,32)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x64">
!m = tensor<64x64xi1, "register=(0,1)(0,2)(0,4)(32,0)(0,8)(0,16) lane=(0,32)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x64">
!r = tensor<64xi64, "register=(0)(0)(0)(32)(0)(0) lane=(0)(1)(2)(4)(8) warp=(16)(0) shape=64">
!c = tensor<64x1xi64, "register=(0,0)(0,0)(0,0)(32,0)(0,0)(0,0) lane=(0,0)(1,0)(2,0)(4,0)(8,0) warp=(16,0)(0,0) shape=64x1">
!o = tensor<1xi64, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
!d = tensor<64x64xf32, "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64">
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %q: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!a]>
  %right = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!b]>
  %first = tile_gpu.load_view %q[%zero] extents [%n] strides [%one] vector 1 repeatable : !o
  %row = tile_gpu.extract %first[%zero] : !o -> i64
  %numbers = tile_gpu.iota : !r
  %rows = tile_gpu.splat %row : i64 -> !r
  %all = arith.addi %rows, %numbers : !r
  %column = tile_gpu.reshape %all : !r -> !c
  %pointers = tile_gpu.broadcast %column : !c -> !p
  %sums = arith.constant dense<0.0> : !d
  %r = scf.for %k = %zero to %n step %one iter_args(%s = %sums) -> (!d) : i32 {
    %bound = arith.extsi %k : i32 to i64
    %bounds = tile_gpu.splat %bound : i64 -> !p
    %mask = arith.cmpi ult, %pointers, %bounds : !p
    %x = tile_gpu.load_global %pointers, mask %mask vector 8 repeatable : !p -> !t
    %y = tile_gpu.load_view %p[%zero, %k] extents [%n, %n] strides [%one, %n] vector 4 along 0 inbounds [true, false] repeatable : !t
    %s0 = tile_gpu.put_begin %left : channel<[!a]>
    tile_gpu.store_shared %x, %s0 : !t -> !a
    tile_gpu.put_commit %left : channel<[!a]>
    %s1 = tile_gpu.put_begin %right : channel<[!b]>
    tile_gpu.store_shared %y, %s1 : !t -> !b
    tile_gpu.put_commit %right : channel<[!b]>
    %g0 = tile_gpu.get %left consumer 0 : channel<[!a]>
    %g1 = tile_gpu.get %right consumer 0 : channel<[!b]>
    %w = tile_gpu.wgmma f16 %g0, %g1, %s : !a, !b -> !d
    %next = tile_gpu.wgmma_wait %w pending 0 : !d
    tile_gpu.release %right consumer 0 : channel<[!b]>
    tile_gpu.release %left consumer 0 : channel<[!a]>
    scf.yield %next : !d
  }
}

// CHECK: [[LAYOUT:#layout_64x64[_0-9]*]] = "register=(0,1)(0,2)(0,4)(4,0)(8,0) lane=(0,8)(0,16)(0,32)(1,0)(2,0) warp=(16,0)(32,0)
// CHECK: [[POINTERS:!tile_64x64xi64[_0-9]*]] = tensor<64x64xi64, [[LAYOUT]]>
// CHECK: [[LEFT:%.*]] = tile_gpu.make_channel stages {{[0-9]+}} producer copies consumers [wgmma] reuse ring wanted
// CHECK: [[RIGHT:%.*]] = tile_gpu.make_channel stages {{[0-9]+}} producer copies consumers [wgmma] reuse ring wanted
// CHECK: tile_gpu.roles compute warps 4
// CHECK-NOT: load_global
// CHECK-NOT: store_shared
// CHECK: wgmma f16
// CHECK: copy warps 4
// CHECK:   load_view
// CHECK:   extract
// CHECK:   iota
// CHECK:   scf.for
// CHECK:   [[MASK:%.*]] = arith.cmpi ult
// CHECK:   [[SLOT:%.*]] = tile_gpu.put_begin [[LEFT]]
// CHECK:   tile_gpu.copy_global {{%.*}}, mask [[MASK]] -> [[SLOT]] vector 8 : [[POINTERS]]
// CHECK:   tile_gpu.put_commit [[LEFT]]
// CHECK:   [[SLOT:%.*]] = tile_gpu.put_begin [[RIGHT]]
// CHECK:   tile_gpu.copy_view {{.*}} -> [[SLOT]] vector 4 along 0
// CHECK:   tile_gpu.put_commit [[RIGHT]]
