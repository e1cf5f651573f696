// RUN: tilec opt %s --passes wgmma-in-flight,expand-schedules --target sm_90a
// The threads that multiply fill the slots themselves: they would wait for a slot that they release later.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!c = channel<[!a]>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %c = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  %r = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 {
    %slot = tile_gpu.get %c consumer 0 : !c
    %x = tile_gpu.wgmma f16 %slot, %slot, %s : !a, !a -> !d
    %y = tile_gpu.wgmma_wait %x pending 0 : !d
    tile_gpu.release %c consumer 0 : !c
    scf.yield %y : !d
  }
  tile_gpu.store_view %r -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
}

// CHECK: pending 0
// CHECK-NOT: late
