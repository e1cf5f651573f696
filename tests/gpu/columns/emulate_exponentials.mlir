// RUN: tilec opt %s --passes emulate-exponentials --target sm_100a
// Polynomials compute a part of the elements where MUFU has more to do than other units, in all operations of the loop.
// The first loop has 1024 cycles of MUFU, and 160 of issue slots: with 7 of 16 both are near 600, with 6 nearly so.

#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#row = "register=(0,0)(0,0)(0,0)(0,0)(0,0)(0,0) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1"
!w = tensor<128x64xf32, #whole>
!r = tensor<128x1xf32, #row>
tile_gpu.kernel @k(%n: i32, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !w
  %f = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !r
  // CHECK: scf.for
  // CHECK: tile_gpu.math "exp2.approx.ftz" polynomials 6
  // The factors of rows are one element of a thread.
  // CHECK-NEXT: tile_gpu.math "exp2.approx.ftz" %
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: tile_gpu.math "exp2.approx.ftz" polynomials 6
  %s:3 = scf.for %i = %zero to %n step %one iter_args(%c = %x, %e = %x, %g = %f) -> (!w, !w, !r) : i32 {
    %u = tile_gpu.math "exp2.approx.ftz" %c : !w -> !w
    %v = tile_gpu.math "exp2.approx.ftz" %g : !r -> !r
    %t = arith.addf %c, %e : !w
    %q = tile_gpu.math "exp2.approx.ftz" %t : !w -> !w
    scf.yield %u, %q, %v : !w, !w, !r
  }
  // The FMA pipe bounds this loop.
  // CHECK: scf.for
  // CHECK-NEXT: math.sin
  // CHECK-NEXT: tile_gpu.math "exp2.approx.ftz" %
  %o = scf.for %i = %zero to %n step %one iter_args(%c = %s#0) -> (!w) : i32 {
    %t = math.sin %c : !w
    %u = tile_gpu.math "exp2.approx.ftz" %t : !w -> !w
    scf.yield %u : !w
  }
  // The instructions compute subnormal results of math.exp2. The test of its arguments is no work of MUFU.
  // CHECK: scf.for
  // CHECK-NEXT: tile_gpu.math "exp2.approx" polynomials {{[1-9]}} %
  %l = scf.for %i = %zero to %n step %one iter_args(%c = %s#1) -> (!w) : i32 {
    %t = math.exp2 %c : !w
    scf.yield %t : !w
  }
  // Outside of loops, latencies bound the kernel.
  // CHECK: tile_gpu.math "exp2.approx.ftz" %
  %y = tile_gpu.math "exp2.approx.ftz" %l : !w -> !w
  tile_gpu.print "%f", %o : !w
  tile_gpu.print "%f", %y : !w
  tile_gpu.print "%f", %s#2 : !r
}
