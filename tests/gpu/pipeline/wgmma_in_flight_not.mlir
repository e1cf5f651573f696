// RUN: tilec opt %s --passes wgmma-in-flight,expand-schedules --target sm_90a
// Multiplies that must be complete: one slot, a result that is read, an lhs in registers, f16 sums.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!h = tensor<64x64xf16, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
!c = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %half = arith.constant dense<0.0> : !h
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : !c
  %e = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  %f = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  %h = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : !c
  tile_gpu.roles compute warps 4 {
    %r = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 0 {
      %slot:2 = tile_gpu.get %c consumer 0 : !c
      %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %s id 1 : !a, !b -> !d
      %y = tile_gpu.wgmma_wait %x pending 0 : !d
      tile_gpu.release %c consumer 0 : !c
      scf.yield %y : !d
    }
    %u = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 2 {
      %slot:2 = tile_gpu.get %e consumer 0 : !c
      %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %s id 3 : !a, !b -> !d
      %y = tile_gpu.wgmma_wait %x pending 0 : !d
      tile_gpu.release %e consumer 0 : !c
      %t = arith.addf %y, %none : !d
      scf.yield %t : !d
    }
    %v = scf.for %k = %m to %n step %one iter_args(%s = %none) -> (!d) : i32 id 4 {
      %slot:2 = tile_gpu.get %f consumer 0 : !c
      %x = tile_gpu.wgmma f16 %half, %slot#1, %s id 5 : !h, !b -> !d
      %y = tile_gpu.wgmma_wait %x pending 0 : !d
      tile_gpu.release %f consumer 0 : !c
      scf.yield %y : !d
    }
    %z = scf.for %k = %m to %n step %one iter_args(%s = %half) -> (!h) : i32 id 6 {
      %slot:2 = tile_gpu.get %h consumer 0 : !c
      %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %s id 7 : !a, !b -> !h
      %y = tile_gpu.wgmma_wait %x pending 0 : !h
      tile_gpu.release %h consumer 0 : !c
      scf.yield %y : !h
    }
    tile_gpu.store_view %r -> %p[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    scf.for %k = %m to %n step %one : i32 id 0 {
      %slot:2 = tile_gpu.put_begin %c : !c
      tile_gpu.put_commit %c : !c
    }
    scf.for %k = %m to %n step %one : i32 id 2 {
      %slot:2 = tile_gpu.put_begin %e : !c
      tile_gpu.put_commit %e : !c
    }
    scf.for %k = %m to %n step %one : i32 id 4 {
      %slot:2 = tile_gpu.put_begin %f : !c
      tile_gpu.put_commit %f : !c
    }
    scf.for %k = %m to %n step %one : i32 id 6 {
      %slot:2 = tile_gpu.put_begin %h : !c
      tile_gpu.put_commit %h : !c
    }
  }
}

// CHECK-NOT: pending 1
// CHECK-NOT: late
