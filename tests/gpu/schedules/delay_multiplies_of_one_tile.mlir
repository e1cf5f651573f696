// RUN: tilec opt %s --passes delay-multiplies,expand-schedules --target sm_90a
// Both multiplies of the first loop read one tile. The second one gets its slot as another consumer of the ring, so that
// the next iteration issues it, and releases it after its wait; the first one releases the slot after its own wait.
// The second loop stays: its ring has two slots, which both multiplies have while no tile is loaded.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!p = tensor<64x64xf16, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: i64) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 3 producer tma consumers [wgmma] reuse ring : channel<[!a]>
  %w = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!a]>
  tile_gpu.roles compute warps 4 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %r = scf.for %i = %m to %n step %one iter_args(%o = %none) -> (!d) : i32 id 0 {
      %rows = tile_gpu.get %k consumer 0 : channel<[!a]>
      %keys = tile_gpu.view_buffer %rows : !a -> !b
      %s = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %s pending 0 : !d
      %f = tile_gpu.math "exp2.approx.ftz" %t : !d -> !d
      %p = arith.truncf %f : !d to !p
      %u = tile_gpu.wgmma f16 %p, %rows, %o : !p, !a -> !d
      %y = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!a]>
      scf.yield %y : !d
    }
    tile_gpu.store_view %r -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    %z = scf.for %i = %m to %n step %one iter_args(%o = %none) -> (!d) : i32 id 1 {
      %rows = tile_gpu.get %w consumer 0 : channel<[!a]>
      %keys = tile_gpu.view_buffer %rows : !a -> !b
      %s = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %t = tile_gpu.wgmma_wait %s pending 0 : !d
      %p = arith.truncf %t : !d to !p
      %u = tile_gpu.wgmma f16 %p, %rows, %o : !p, !a -> !d
      %y = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %w consumer 0 : channel<[!a]>
      scf.yield %y : !d
    }
    tile_gpu.store_view %z -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %m to %n step %one : i32 id 0 {
      %keys = tile_gpu.put_begin %k : channel<[!a]>
      tile_gpu.put_commit %k : channel<[!a]>
    }
    scf.for %i = %m to %n step %one : i32 id 1 {
      %keys = tile_gpu.put_begin %w : channel<[!a]>
      tile_gpu.put_commit %w : channel<[!a]>
    }
  }
}

// CHECK: [[K:%.*]] = tile_gpu.make_channel stages 3 producer tma consumers [wgmma, wgmma]
// CHECK: [[W:%.*]] = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse
// CHECK: scf.for {{.*}} iter_args([[O:%.*]] = %{{.*}}, [[P:%.*]] = %{{.*}})
// CHECK: tile_gpu.get [[K]] consumer 0
// CHECK: [[S:%.*]] = tile_gpu.wgmma f16
// CHECK: [[V:%.*]] = tile_gpu.get [[K]] consumer 1
// CHECK: [[U:%.*]] = tile_gpu.wgmma f16 [[P]], [[V]], [[O]]
// CHECK: tile_gpu.wgmma_wait [[S]] pending 1
// CHECK: tile_gpu.release [[K]] consumer 0
// CHECK: tile_gpu.math "exp2.approx.ftz"
// CHECK: tile_gpu.wgmma_wait [[U]] pending 0
// CHECK: tile_gpu.release [[K]] consumer 1
// CHECK: tile_gpu.store_view
// CHECK: scf.for {{.*}} = %arg1 to %arg0
// CHECK-NOT: pending 1
// CHECK: tile_gpu.store_view
