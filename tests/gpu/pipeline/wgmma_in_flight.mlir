// RUN: tilec opt %s --passes wgmma-in-flight,expand-schedules --target sm_90a
// The multiply of an iteration is complete when the next one has been issued; its slot is released then.

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
    %r = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 0 {
      %slot:2 = tile_gpu.get %c consumer 0 : !c
      %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %s id 1 : !a, !b -> !d
      %y = tile_gpu.wgmma_wait %x pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      scf.yield %y : !d
    }
    tile_gpu.store_view %r -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    scf.for %k = %m to %n step %one : i32 id 0 {
      %slot:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
    }
  }
}

// CHECK: [[RUNS:%.*]] = arith.cmpi slt, %arg2, %arg1
// CHECK: [[SUM:%.*]] = scf.for [[K:%.*]] = %arg2 to
// CHECK: tile_gpu.get
// CHECK: tile_gpu.wgmma f16
// CHECK: [[LATER:%.*]] = arith.cmpi ne, [[K]], %arg2
// CHECK: [[NEXT:%.*]] = tile_gpu.wgmma_wait %{{.*}} pending 1
// CHECK: scf.if [[LATER]] {
// CHECK: tile_gpu.release %{{.*}} consumer 0 late
// CHECK: scf.yield [[NEXT]]
// CHECK: [[DONE:%.*]] = tile_gpu.wgmma_wait [[SUM]] pending 0
// CHECK: scf.if [[RUNS]] {
// CHECK: tile_gpu.release %{{.*}} consumer 0 late
// CHECK: tile_gpu.store_view [[DONE]]
