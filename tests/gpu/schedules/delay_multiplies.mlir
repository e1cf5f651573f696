// RUN: tilec opt %s --passes delay-multiplies,expand-schedules --target sm_90a
// The second multiply has its lhs in registers and updates a carried accumulator: the next iteration issues it,
// behind the first multiply, and awaits it where it uses the accumulator. The schedule has all others an iteration
// ahead, so that the first ones are in front of the loop. The multiply of the last iteration is behind the loop.
// The second loop stays: the ring of its second multiply has one slot, whose next load would begin later, and another
// block multiplies meanwhile.
// Two multiplies of the third one compute the sums: the delayed one follows both.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!p = tensor<64x64xf16, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: i64) target "sm_90a" warps 4 attributes {tilec.occupancy = 2 : i32} {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %half = arith.constant dense<0.5> : !d
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %e = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %w = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  tile_gpu.roles compute warps 4 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %r = scf.for %i = %m to %n step %one iter_args(%o = %none) -> (!d) : i32 id 0 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %s pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %f = tile_gpu.math "exp2.approx.ftz" %t : !d -> !d
      %p = arith.truncf %f : !d to !p
      %c = arith.mulf %o, %half : !d
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %p, %values, %c : !p, !b -> !d
      %y = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      scf.yield %y : !d
    }
    tile_gpu.store_view %r -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    %z = scf.for %i = %m to %n step %one iter_args(%o = %none) -> (!d) : i32 id 1 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %s pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %p = arith.truncf %t : !d to !p
      %c = arith.mulf %o, %half : !d
      %values = tile_gpu.get %w consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %p, %values, %c : !p, !b -> !d
      %y = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %w consumer 0 : channel<[!b]>
      scf.yield %y : !d
    }
    tile_gpu.store_view %z -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    %z3 = scf.for %i = %m to %n step %one iter_args(%o = %none) -> (!d) : i32 id 2 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %s = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %s pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %more = tile_gpu.get %e consumer 0 : channel<[!b]>
      %s1 = tile_gpu.wgmma f16 %left, %more, %t : !a, !b -> !d
      %t1 = tile_gpu.wgmma_wait %s1 pending 0 : !d
      tile_gpu.release %e consumer 0 : channel<[!b]>
      %p = arith.truncf %t1 : !d to !p
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %p, %values, %o : !p, !b -> !d
      %y = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      scf.yield %y : !d
    }
    tile_gpu.store_view %z3 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
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
      %values = tile_gpu.put_begin %w : channel<[!b]>
      tile_gpu.put_commit %w : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 2 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %more = tile_gpu.put_begin %e : channel<[!b]>
      tile_gpu.put_commit %e : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
  }
}

// CHECK: [[SECOND:%.*]] = arith.select
// CHECK: [[RUNS:%.*]] = arith.cmpi slt, %arg1, %arg0
// CHECK: scf.if [[RUNS]]
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 0
// CHECK: [[DONE:%.*]]:2 = scf.for %{{.*}} = [[SECOND]] to %arg0 {{.*}} iter_args([[P:%.*]] = %{{.*}}, [[O:%.*]] = %{{.*}})
// CHECK: [[S:%.*]] = tile_gpu.wgmma f16
// CHECK: tile_gpu.get [[V:%.*]] consumer 0
// CHECK: [[U:%.*]] = tile_gpu.wgmma f16 [[P]], %{{.*}}, [[O]]
// CHECK: tile_gpu.wgmma_wait [[S]] pending 1
// CHECK: tile_gpu.math "exp2.approx.ftz"
// CHECK: tile_gpu.wgmma_wait [[U]] pending 0
// CHECK: tile_gpu.release [[V]] consumer 0
// CHECK: arith.truncf
// CHECK: scf.yield
// CHECK: tile_gpu.wgmma f16 [[DONE]]#0, %{{.*}}, [[DONE]]#1
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 0
// CHECK: else
// CHECK: tile_gpu.store_view
// CHECK: scf.for {{.*}} = %arg1 to %arg0
// CHECK-NOT: pending 1
// CHECK: tile_gpu.store_view
// CHECK: scf.for {{.*}} iter_args([[O:%.*]] = %{{.*}}, [[P:%.*]] = %{{.*}})
// CHECK: [[S:%.*]] = tile_gpu.wgmma f16
// CHECK: [[T:%.*]] = tile_gpu.wgmma_wait [[S]] pending 0
// CHECK: [[M:%.*]] = tile_gpu.wgmma f16 %{{.*}}, %{{.*}}, [[T]]
// CHECK: [[U:%.*]] = tile_gpu.wgmma f16 [[P]], %{{.*}}, [[O]]
// CHECK: tile_gpu.wgmma_wait [[M]] pending 1
// CHECK: tile_gpu.wgmma_wait [[U]] pending 0
