// RUN: tilec opt %s --passes assign-roles,make-channels,partition-roles --target sm_100a
// Two chains that scale an accumulator by a factor per row: a third role scales both, and computes what follows from them. The factors
// are computed right after the largest elements that they need, and cross in shared memory.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#column = "register=(0,0)(0,0)(0,0)(0,0)(0,0)(0,0) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1"
#row = "register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!tile = tensor<128x64xf32, #rows>
!half = tensor<128x64xf16, #rows>
!row = tensor<128xf32, #row>
!factor = tensor<128x1xf32, #column>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!p = buffer<128x64xf16, tensor, lanes=128 packed>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %yes = arith.constant true
  %left = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %right = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %start = arith.constant dense<0.0> : !tile
  %q0 = tile_gpu.load_tile %left[%zero, %zero] : !a
  %q1 = tile_gpu.load_tile %left[%zero, %one] : !a
  %first0 = tile_gpu.place %start : !tile -> !d
  %first1 = tile_gpu.place %start : !tile -> !d
  %o0, %o1 = scf.for %i = %zero to %n step %one iter_args(%a0 = %first0, %a1 = %first1) -> (!d, !d) : i32 {
    %k = tile_gpu.load_tile %right[%zero, %i] : !b
    %u0 = tile_gpu.undefined : !d
    %s0 = tile_gpu.multiply f16 %q0, %k, %u0 accumulate %no : !a, !b -> !d
    %x0 = tile_gpu.read %s0 : !d -> !tile
    %m0 = tile_gpu.reduce %x0 dimension 1 identities [0.0 : f32] : !tile -> !row (%e: f32, %f: f32) {
      %g = arith.maxnumf %e, %f : f32
      tile_gpu.yield %g : f32
    }
    %h0 = arith.truncf %x0 : !tile to !half
    %p0 = tile_gpu.place %h0 over %s0 : !d : !half -> !p
    %c0 = tile_gpu.reshape %m0 : !row -> !factor
    %f0 = math.exp2 %c0 : !factor
    %w0 = tile_gpu.broadcast %f0 : !factor -> !tile
    %r0 = tile_gpu.read %a0 : !d -> !tile
    %n0 = arith.mulf %r0, %w0 : !tile
    %l0 = tile_gpu.place %n0 : !tile -> !d
    %t0 = tile_gpu.multiply f16 %p0, %k, %l0 accumulate %yes : !p, !b -> !d
    %u1 = tile_gpu.undefined : !d
    %s1 = tile_gpu.multiply f16 %q1, %k, %u1 accumulate %no : !a, !b -> !d
    %x1 = tile_gpu.read %s1 : !d -> !tile
    %m1 = tile_gpu.reduce %x1 dimension 1 identities [0.0 : f32] : !tile -> !row (%e: f32, %f: f32) {
      %g = arith.maxnumf %e, %f : f32
      tile_gpu.yield %g : f32
    }
    %h1 = arith.truncf %x1 : !tile to !half
    %p1 = tile_gpu.place %h1 over %s1 : !d : !half -> !p
    %c1 = tile_gpu.reshape %m1 : !row -> !factor
    %f1 = math.exp2 %c1 : !factor
    %w1 = tile_gpu.broadcast %f1 : !factor -> !tile
    %r1 = tile_gpu.read %a1 : !d -> !tile
    %n1 = arith.mulf %r1, %w1 : !tile
    %l1 = tile_gpu.place %n1 : !tile -> !d
    %t1 = tile_gpu.multiply f16 %p1, %k, %l1 accumulate %yes : !p, !b -> !d
    scf.yield %t0, %t1 : !d, !d
  }
  %y0 = tile_gpu.read %o0 : !d -> !tile
  %y1 = tile_gpu.read %o1 : !d -> !tile
}

// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: tile_gpu.store_tensor_memory
// CHECK: tile_gpu.reduce
// CHECK: math.exp2
// CHECK-NEXT: tile_gpu.put_begin [[F0:%.*]] :
// CHECK-NEXT: tile_gpu.store_shared
// CHECK-NEXT: tile_gpu.put_commit [[F0]]
// CHECK: } compute1 warps 4 {
// CHECK: math.exp2
// CHECK-NEXT: tile_gpu.put_begin [[F1:%.*]] :
// CHECK: tile_gpu.put_commit [[F1]]
// CHECK: } compute2 warps 4 {
// CHECK: scf.for
// CHECK: tile_gpu.get [[F0]]
// CHECK: tile_gpu.load_shared
// CHECK: arith.mulf
// CHECK: tile_gpu.store_tensor_memory
// CHECK: tile_gpu.get [[F1]]
// CHECK: arith.mulf
// CHECK: tile_gpu.store_tensor_memory
// CHECK: tile_gpu.load_tensor_memory
// CHECK: tile_gpu.load_tensor_memory
