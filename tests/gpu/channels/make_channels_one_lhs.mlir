// RUN: tilec opt %s --passes make-channels --target sm_100a
// Multiplies of one lhs, whose results the loop carries, follow each other: their operands are got before the first
// one, and released after the last one. Those of the other loops, whose results threads read in the same iteration, do not
// wait for each other.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!t = tensor<128x64xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %other = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %x = tile_gpu.undefined : !d
  %y = tile_gpu.undefined : !d
  %r:3 = scf.for %i = %zero to %n step %one iter_args(%s = %x, %u = %y, %f = %no) -> (!d, !d, i1) : i32 {
    %a = tile_gpu.load_tile %map[%zero, %i] : !a
    %b = tile_gpu.load_tile %other[%zero, %i] : !b
    %m = tile_gpu.multiply f16 %a, %b, %s accumulate %f : !a, !b -> !d
    %j = arith.addi %i, %one : i32
    %c = tile_gpu.load_tile %other[%j, %i] : !b
    %o = tile_gpu.multiply f16 %a, %c, %u accumulate %f : !a, !b -> !d
    scf.yield %m, %o, %yes : !d, !d, i1
  }
  %t = tile_gpu.read %r#0 : !d -> !t
  %v = tile_gpu.read %r#1 : !d -> !t
  tile_gpu.store_view %t -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !t
  tile_gpu.store_view %v -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !t
  scf.for %i = %zero to %n step %one : i32 {
    %a = tile_gpu.load_tile %map[%zero, %i] : !a
    %b = tile_gpu.load_tile %other[%zero, %i] : !b
    %c = tile_gpu.load_tile %other[%one, %i] : !b
    %e = tile_gpu.undefined : !d
    %m = tile_gpu.multiply f16 %a, %b, %e accumulate %no : !a, !b -> !d
    %w = tile_gpu.read %m : !d -> !t
    tile_gpu.store_view %w -> %p[%zero, %i] extents [%n, %n] strides [%n, %one] vector 1 : !t
    %g = tile_gpu.undefined : !d
    %o = tile_gpu.multiply f16 %a, %c, %g accumulate %no : !a, !b -> !d
    %z = tile_gpu.read %o : !d -> !t
    tile_gpu.store_view %z -> %p[%zero, %i] extents [%n, %n] strides [%n, %one] vector 1 : !t
  }
  scf.for %i = %zero to %n step %one : i32 {
    %a = tile_gpu.load_tile %map[%zero, %i] : !a
    %b = tile_gpu.load_tile %other[%zero, %i] : !b
    %c = tile_gpu.load_tile %other[%one, %i] : !b
    %e = tile_gpu.undefined : !d
    %g = tile_gpu.undefined : !d
    %m = tile_gpu.multiply f16 %a, %b, %e accumulate %no : !a, !b -> !d
    %o = tile_gpu.multiply f16 %a, %c, %g accumulate %no : !a, !b -> !d
    %w = tile_gpu.read %m : !d -> !t
    %z = tile_gpu.read %o : !d -> !t
    tile_gpu.store_view %w -> %p[%zero, %i] extents [%n, %n] strides [%n, %one] vector 1 : !t
    tile_gpu.store_view %z -> %p[%zero, %i] extents [%n, %n] strides [%n, %one] vector 1 : !t
  }
}

// CHECK: scf.for
// CHECK: tile_gpu.get
// CHECK-NEXT: tile_gpu.get
// CHECK-NEXT: tile_gpu.get
// CHECK-NEXT: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.tcgen05_mma
// CHECK-NOT: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.release
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.load_tensor_memory
// CHECK: tile_gpu.tcgen05_mma
// CHECK: scf.for
// CHECK: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.get
// CHECK: tile_gpu.tcgen05_mma
