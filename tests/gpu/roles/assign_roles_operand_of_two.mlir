// RUN: tilec opt %s --passes assign-roles --target sm_100a
// A tile that two multiplies of a block read in one layout is placed once. It is placed again for another layout, and for another block.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!half = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<128x64xf16, shared, contiguous=1 swizzle=64B>
!c = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %right = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %x = arith.constant dense<2.0> : !half
  %sum = scf.for %i = %zero to %n step %one iter_args(%e = %x) -> (!half) : i32 {
    %k = tile_gpu.load_tile %right[%zero, %i] : !c
    %first = tile_gpu.place %e : !half -> !a
    %u = tile_gpu.undefined : !d
    %r = tile_gpu.multiply f16 %first, %k, %u accumulate %no : !a, !c -> !d
    %second = tile_gpu.place %e : !half -> !a
    %v = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %second, %k, %v accumulate %no : !a, !c -> !d
    %third = tile_gpu.place %e : !half -> !b
    %w = tile_gpu.undefined : !d
    %t = tile_gpu.multiply f16 %third, %k, %w accumulate %no : !b, !c -> !d
    %next = arith.addf %e, %x : !half
    scf.yield %next : !half
  }
  %l = tile_gpu.load_tile %right[%zero, %zero] : !c
  %fourth = tile_gpu.place %x : !half -> !a
  %y = tile_gpu.undefined : !d
  %z = tile_gpu.multiply f16 %fourth, %l, %y accumulate %no : !a, !c -> !d
}

// CHECK: [[LAST:%.*]] = tile_gpu.place
// CHECK: scf.for
// CHECK: [[ONCE:%.*]] = tile_gpu.place
// CHECK: tile_gpu.multiply f16 [[ONCE]],
// CHECK: tile_gpu.multiply f16 [[ONCE]],
// CHECK: [[OTHER:%.*]] = tile_gpu.place
// CHECK: tile_gpu.multiply f16 [[OTHER]],
// CHECK: tile_gpu.multiply f16 [[LAST]],
