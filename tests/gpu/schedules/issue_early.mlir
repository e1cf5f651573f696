// RUN: tilec opt %s --passes issue-early,expand-schedules --target sm_90a
// The third multiply of the first loop needs only tiles that TMA loads: it follows the first one. Waits come in front of the first use of
// sums, in front of the release of an operand, or at the end, in the order of the multiplies, and say how many of those behind are in flight.
// In the other loops the second multiply stays where it is, or a loop as a whole:
// - the role of the loads may need what is committed between both multiplies, such as the number of the tile;
// - both multiplies use the same ring, so that the second get finds its slot when the first one is released;
// - threads store the operand in the iteration;
// - there are not enough registers for both sums (128 of each thread).

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
#w = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64)(0,128) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x256"
!d = tensor<64x64xf32, #d>
!p = tensor<64x64xf16, #d>
!w = tensor<64x256xf32, #w>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
!c = buffer<64x256xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: i64) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %all = arith.constant dense<0.0> : !w
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %l = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!c]>
  %h = tile_gpu.make_channel stages 1 producer threads consumers [wgmma] reuse ring : channel<[!b]>
  %g = tile_gpu.make_channel stages 1 producer threads consumers [warp] reuse ring : channel<[]>
  tile_gpu.roles compute warps 4 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    // CHECK: scf.for
    // CHECK: [[KEYS:%.*]] = tile_gpu.get
    // CHECK-NEXT: [[S:%.*]] = tile_gpu.wgmma f16 {{%.*}}, [[KEYS]]
    // CHECK-NEXT: [[VALUES:%.*]] = tile_gpu.get
    // CHECK-NEXT: [[T:%.*]] = tile_gpu.wgmma f16 {{%.*}}, [[VALUES]]
    // CHECK-NEXT: tile_gpu.wgmma_wait [[S]] pending 1
    // CHECK-NEXT: math.exp2
    // CHECK-NEXT: arith.truncf
    // CHECK-NEXT: [[O:%.*]] = tile_gpu.wgmma f16 {{%.*}}, [[KEYS]]
    // CHECK-NEXT: tile_gpu.wgmma_wait [[T]] pending 1
    // CHECK-NEXT: tile_gpu.wgmma_wait [[O]] pending 0
    // CHECK-NEXT: tile_gpu.release
    // CHECK-NEXT: tile_gpu.release
    // CHECK-NEXT: arith.mulf
    // CHECK-NEXT: scf.yield
    %r:2 = scf.for %i = %m to %n step %one iter_args(%o = %none, %e = %none) -> (!d, !d) : i32 id 0 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s0 = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %s = tile_gpu.wgmma_wait %s0 pending 0 : !d
      %f = math.exp2 %s : !d
      %p = arith.truncf %f : !d to !p
      %o0 = tile_gpu.wgmma f16 %p, %keys, %o : !p, !b -> !d
      %o1 = tile_gpu.wgmma_wait %o0 pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %t0 = tile_gpu.wgmma f16 %left, %values, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %t0 pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      %u = arith.mulf %f, %t : !d
      scf.yield %o1, %u : !d, !d
    }
    tile_gpu.store_view %r#0 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    tile_gpu.store_view %r#1 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    // CHECK: scf.for
    // CHECK: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    // CHECK: tile_gpu.put_commit
    // CHECK-NEXT: tile_gpu.get
    // CHECK-NEXT: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    %r1 = scf.for %i = %m to %n step %one iter_args(%e = %none) -> (!d) : i32 id 1 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s0 = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %s = tile_gpu.wgmma_wait %s0 pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      tile_gpu.put_begin %g : channel<[]>
      tile_gpu.put_commit %g : channel<[]>
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %t0 = tile_gpu.wgmma f16 %left, %values, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %t0 pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      %u = arith.mulf %s, %t : !d
      scf.yield %u : !d
    }
    tile_gpu.store_view %r1 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    // CHECK: scf.for
    // CHECK: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    // CHECK-NEXT: tile_gpu.release
    // CHECK-NEXT: tile_gpu.get
    // CHECK-NEXT: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    %r2 = scf.for %i = %m to %n step %one iter_args(%e = %none) -> (!d) : i32 id 2 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s0 = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %s = tile_gpu.wgmma_wait %s0 pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %k consumer 0 : channel<[!b]>
      %t0 = tile_gpu.wgmma f16 %left, %values, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %t0 pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %u = arith.mulf %s, %t : !d
      scf.yield %u : !d
    }
    tile_gpu.store_view %r2 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    // CHECK: scf.for
    // CHECK: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    // CHECK-NEXT: tile_gpu.release
    // CHECK-NEXT: tile_gpu.get
    // CHECK-NEXT: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    %r3 = scf.for %i = %m to %n step %one iter_args(%e = %none) -> (!d) : i32 id 3 {
      %stored = tile_gpu.put_begin %h : channel<[!b]>
      tile_gpu.put_commit %h : channel<[!b]>
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s0 = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %s = tile_gpu.wgmma_wait %s0 pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %h consumer 0 : channel<[!b]>
      %t0 = tile_gpu.wgmma f16 %left, %values, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %t0 pending 0 : !d
      tile_gpu.release %h consumer 0 : channel<[!b]>
      %u = arith.mulf %s, %t : !d
      scf.yield %u : !d
    }
    tile_gpu.store_view %r3 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    // CHECK: scf.for
    // CHECK: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: tile_gpu.wgmma f16
    // CHECK-NEXT: tile_gpu.wgmma_wait {{.*}} pending 0
    %r4 = scf.for %i = %m to %n step %one iter_args(%e = %all) -> (!w) : i32 id 4 {
      %keys = tile_gpu.get %l consumer 0 : channel<[!c]>
      %s0 = tile_gpu.wgmma f16 %left, %keys, %all : !a, !c -> !w
      %s = tile_gpu.wgmma_wait %s0 pending 0 : !w
      %f = arith.addf %s, %e : !w
      %t0 = tile_gpu.wgmma f16 %left, %keys, %all : !a, !c -> !w
      %t = tile_gpu.wgmma_wait %t0 pending 0 : !w
      tile_gpu.release %l consumer 0 : channel<[!c]>
      %u = arith.mulf %f, %t : !w
      scf.yield %u : !w
    }
    tile_gpu.store_view %r4 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !w
    // CHECK: load
  } load warps 1 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %m to %n step %one : i32 id 0 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 1 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      tile_gpu.get %g consumer 0 : channel<[]>
      tile_gpu.release %g consumer 0 : channel<[]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 2 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 3 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 4 {
      %keys = tile_gpu.put_begin %l : channel<[!c]>
      tile_gpu.put_commit %l : channel<[!c]>
    }
  }
}
