// RUN: tilec opt %s --passes order-warpgroups --target sm_90a
// Two warpgroups multiply 64 rows each. They issue both multiplies of the first loop one after the other. The second loop releases a
// slot between its multiplies, for which the role of the loads may wait: it stays. So does the third one, whose threads have little to do.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)(64,0) shape=128x64"
!d = tensor<128x64xf32, #d>
!p = tensor<128x64xf16, #d>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %m: i32, %x: i64) target "sm_90a" warps 8 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %half = arith.constant dense<0.5> : !p
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 2 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  // CHECK: tile_gpu.roles compute
  // CHECK-NEXT: tile_gpu.order_signal first
  tile_gpu.roles compute warps 8 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    // CHECK: scf.for
    // CHECK: tile_gpu.get
    // CHECK-NEXT: tile_gpu.order_wait
    // CHECK-NEXT: tile_gpu.wgmma
    // CHECK-NEXT: tile_gpu.wgmma
    // CHECK-NEXT: tile_gpu.order_signal
    // CHECK-NEXT: tile_gpu.wgmma_wait
    %o, %h = scf.for %i = %m to %n step %one iter_args(%s = %none, %w = %half) -> (!d, !p) : i32 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %t = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %u = tile_gpu.wgmma f16 %w, %keys, %s : !p, !b -> !d
      %y = tile_gpu.wgmma_wait %t pending 1 : !d
      %e = tile_gpu.math "exp2.approx.ftz" %y : !d -> !d
      %z = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %c = arith.truncf %e : !d to !p
      scf.yield %z, %c : !d, !p
    }
    // CHECK: scf.for
    // CHECK-NOT: tile_gpu.order
    %o1, %h1 = scf.for %i = %m to %n step %one iter_args(%s = %o, %w = %h) -> (!d, !p) : i32 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %t = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %y = tile_gpu.wgmma_wait %t pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %values = tile_gpu.get %k consumer 0 : channel<[!b]>
      %u = tile_gpu.wgmma f16 %w, %values, %s : !p, !b -> !d
      %e = tile_gpu.math "exp2.approx.ftz" %y : !d -> !d
      %z = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %c = arith.truncf %e : !d to !p
      scf.yield %z, %c : !d, !p
    }
    // CHECK: scf.for
    // CHECK-NOT: tile_gpu.order_signal
    %o2, %h2 = scf.for %i = %m to %n step %one iter_args(%s = %o1, %w = %h1) -> (!d, !p) : i32 {
      %keys = tile_gpu.get %k consumer 0 : channel<[!b]>
      %t = tile_gpu.wgmma f16 %left, %keys, %none : !a, !b -> !d
      %u = tile_gpu.wgmma f16 %w, %keys, %s : !p, !b -> !d
      %y = tile_gpu.wgmma_wait %t pending 1 : !d
      %z = tile_gpu.wgmma_wait %u pending 0 : !d
      tile_gpu.release %k consumer 0 : channel<[!b]>
      %c = arith.truncf %y : !d to !p
      scf.yield %z, %c : !d, !p
    }
    tile_gpu.store_view %o2 -> %x[%m, %m] extents [%n, %n] strides [%n, %one] vector 1 : !d
    // CHECK: tile_gpu.order_wait last
    // CHECK-NEXT: load
  } load warps 1 {
  }
}
