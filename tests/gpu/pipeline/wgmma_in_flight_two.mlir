// RUN: tilec opt %s --passes wgmma-in-flight,expand-schedules --target sm_90a
// Two multiplies of an iteration are in flight while those of the next are issued.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
!c = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %c = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  tile_gpu.roles compute warps 4 {
    %w:2 = scf.for %k = %m to %n step %one iter_args(%s = %none, %t = %none) -> (!d, !d) : i32 id 0 {
      %slot:2 = tile_gpu.get %c consumer 0 : !c
      %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %s id 1 : !a, !b -> !d
      %y = tile_gpu.wgmma_wait %x pending 0 : !d
      %i = tile_gpu.wgmma f16 %slot#0, %slot#1, %t id 2 : !a, !b -> !d
      %j = tile_gpu.wgmma_wait %i pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      scf.yield %y, %j : !d, !d
    }
    tile_gpu.store_view %w#0 -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    scf.for %k = %m to %n step %one : i32 id 0 {
      %slot:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
    }
  }
}

// CHECK: [[SUM:%.*]]:2 = scf.for
// CHECK: tile_gpu.wgmma f16
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 2
// CHECK: tile_gpu.wgmma f16
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 2
// CHECK: scf.if
// CHECK: tile_gpu.release %{{.*}} consumer 0 late
// CHECK: tile_gpu.wgmma_wait [[SUM]]#0 pending 0
// CHECK: tile_gpu.wgmma_wait [[SUM]]#1 pending 0
// CHECK: tile_gpu.release %{{.*}} consumer 0 late
