// RUN: tilec opt %s --passes emulate-waiting --target sm_100a
// Threads compute exponentials while no other unit works: polynomials shorten the loop, though FMA has more to do.

#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#large = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(128,0)(256,0) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=512x64"
!w = tensor<128x64xf32, #whole>
!s = buffer<512x64xf32, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%n: i32, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // No second block on the SM computes meanwhile.
  %large = tile_gpu.shared : !s
  %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !w
  // CHECK: scf.for
  // CHECK-NEXT: math.sin
  // CHECK-NEXT: tile_gpu.barrier
  // CHECK-NEXT: tile_gpu.math "exp2.approx.ftz" polynomials {{[1-9]}} %
  // CHECK-NEXT: tile_gpu.barrier
  %o = scf.for %i = %zero to %n step %one iter_args(%c = %x) -> (!w) : i32 {
    %t = math.sin %c : !w
    tile_gpu.barrier
    %u = tile_gpu.math "exp2.approx.ftz" %t : !w -> !w
    tile_gpu.barrier
    scf.yield %u : !w
  }
  // Beside the sines, polynomials would make it longer: a share that no heuristic would give is removed.
  // CHECK: scf.for
  // CHECK-NEXT: math.sin
  // CHECK-NEXT: tile_gpu.math "exp2.approx.ftz" %
  %q = scf.for %i = %zero to %n step %one iter_args(%c = %o) -> (!w) : i32 {
    %t = math.sin %c : !w
    %u = tile_gpu.math "exp2.approx.ftz" polynomials 3 %t : !w -> !w
    scf.yield %u : !w
  }
  %y = tile_gpu.load_shared %large : !s -> tensor<512x64xf32, #large>
  tile_gpu.print "%f", %q : !w
  tile_gpu.print "%f", %y : tensor<512x64xf32, #large>
}
