// RUN: tilec opt %s --passes advance-first-multiplies,expand-schedules --target sm_90a
// The second multiply of a body is one that the iteration before delayed. The first one is issued behind it, for the
// next iteration, and is awaited at the end: threads compute the exponentials of sums that are complete. The loop with
// keys of one slot stays: these would be loaded when the multiply is awaited. Roles with
// budgets of registers have the SM alone.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
#r = "register=(0)(8)(0)(0)(0) lane=(0)(0)(1)(2)(4) warp=(16)(32) shape=64"
!d = tensor<64x64xf32, #d>
!r = tensor<64xf32, #r>
!p = tensor<64x64xf16, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: i64) target "sm_90a" warps 4 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %zero = arith.constant dense<0.0> : !p
  %half = arith.constant dense<0.5> : !d
  %least = arith.constant dense<0.0> : !r
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 12 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %v = tile_gpu.make_channel stages 12 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %w = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  tile_gpu.roles compute warps 4 registers 232 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %r, %s, %t = scf.for %i = %m to %n step %one iter_args(%o = %none, %p = %zero, %most = %least) -> (!d, !p, !r) : i32 id 0 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %y = tile_gpu.wgmma f16 %p, %values, %o : !p, !b -> !d
      %scores = tile_gpu.wgmma_wait %u pending 1 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %row = tile_gpu.reduce %scores dimension 1 identities [0xFF800000 : f32] : !d -> !r (%e: f32, %f: f32) {
        %g = arith.maxnumf %e, %f : f32
        tile_gpu.yield %g : f32
      }
      %more = arith.maxnumf %most, %row : !r
      %exponentials = tile_gpu.math "exp2.approx.ftz" %scores : !d -> !d
      %sums = tile_gpu.wgmma_wait %y pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      %weights = arith.truncf %exponentials : !d to !p
      %scaled = arith.mulf %sums, %half : !d
      scf.yield %scaled, %weights, %more : !d, !p, !r
    }
    tile_gpu.store_view %r -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    %r1, %s1 = scf.for %i = %m to %n step %one iter_args(%o = %none, %p = %zero) -> (!d, !p) : i32 id 1 {
      %keys = tile_gpu.get %w consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %values = tile_gpu.get %v consumer 0 : channel<[!b]>
      %y = tile_gpu.wgmma f16 %p, %values, %o : !p, !b -> !d
      %scores = tile_gpu.wgmma_wait %u pending 1 : !d
      tile_gpu.release %w consumer 0 : channel<[!b]>
      %exponentials = tile_gpu.math "exp2.approx.ftz" %scores : !d -> !d
      %sums = tile_gpu.wgmma_wait %y pending 0 : !d
      tile_gpu.release %v consumer 0 : channel<[!b]>
      %weights = arith.truncf %exponentials : !d to !p
      %scaled = arith.mulf %sums, %half : !d
      scf.yield %scaled, %weights : !d, !p
    }
    tile_gpu.store_view %r1 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
  } load warps 1 registers 32 {
    %left = tile_gpu.put_begin %q : channel<[!a]>
    tile_gpu.put_commit %q : channel<[!a]>
    scf.for %i = %m to %n step %one : i32 id 0 {
      %keys = tile_gpu.put_begin %k : channel<[!b]>
      tile_gpu.put_commit %k : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
    scf.for %i = %m to %n step %one : i32 id 1 {
      %keys = tile_gpu.put_begin %w : channel<[!b]>
      tile_gpu.put_commit %w : channel<[!b]>
      %values = tile_gpu.put_begin %v : channel<[!b]>
      tile_gpu.put_commit %v : channel<[!b]>
    }
  }
}

// CHECK: tile_gpu.get [[K:%.*]] consumer 0
// CHECK: tile_gpu.wgmma f16
// CHECK: [[FIRST:%.*]] = tile_gpu.wgmma_wait %{{.*}} pending 0
// CHECK: scf.for {{.*}} iter_args([[O:%.*]] = %{{.*}}, [[P:%.*]] = %{{.*}}, %{{.*}} = %{{.*}}, [[SCORES:%.*]] = [[FIRST]])
// CHECK: [[Y:%.*]] = tile_gpu.wgmma f16 [[P]], %{{.*}}, [[O]]
// CHECK: [[U:%.*]] = tile_gpu.wgmma f16
// CHECK-NOT: tile_gpu.wgmma_wait
// CHECK: tile_gpu.reduce [[SCORES]]
// CHECK: tile_gpu.math "exp2.approx.ftz" [[SCORES]]
// CHECK: tile_gpu.wgmma_wait [[Y]] pending 1
// CHECK: arith.truncf
// CHECK: [[NEXT:%.*]] = tile_gpu.wgmma_wait [[U]] pending 0
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, [[NEXT]]
// CHECK: tile_gpu.reduce
// CHECK: scf.for {{.*}} -> (!tile_64x64xf32, !tile_64x64xf16)
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 1
// CHECK: tile_gpu.wgmma_wait %{{.*}} pending 0
