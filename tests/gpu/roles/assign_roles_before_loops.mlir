// RUN: tilec opt %s --passes assign-roles --target sm_100a
// An operand that is computed before loops is placed before them, once for two loops. It stays in a branch, and in a loop that
// computes it; an operand of a group stays, too.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!half = tensor<128x64xf16, #rows>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!c = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%q: i64, %n: i32, %p: i1) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %right = tile_gpu.make_tensor_map "f16" %q[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = arith.constant dense<2.0> : !half
  %x = math.exp2 %c : !half
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %k = tile_gpu.load_tile %right[%j, %i] : !c
      %first = tile_gpu.place %x : !half -> !a
      %u = tile_gpu.undefined : !d
      %r = tile_gpu.multiply f16 %first, %k, %u accumulate %no : !a, !c -> !d
    }
    %y = arith.addf %x, %c : !half
    scf.for %j = %zero to %n step %one : i32 {
      %k = tile_gpu.load_tile %right[%j, %i] : !c
      %second = tile_gpu.place %x : !half -> !a
      %u = tile_gpu.undefined : !d
      %r = tile_gpu.multiply f16 %second, %k, %u accumulate %no : !a, !c -> !d
      %grouped = tile_gpu.place %y group 0 : !half -> !a
      %v = tile_gpu.undefined : !d
      %s = tile_gpu.multiply f16 %grouped, %k, %v accumulate %no : !a, !c -> !d
    }
    scf.if %p {
      %k = tile_gpu.load_tile %right[%zero, %i] : !c
      %third = tile_gpu.place %x : !half -> !a
      %u = tile_gpu.undefined : !d
      %r = tile_gpu.multiply f16 %third, %k, %u accumulate %no : !a, !c -> !d
    }
  }
}

// CHECK: [[X:%.*]] = math.exp2
// CHECK-NEXT: [[ONCE:%.*]] = tile_gpu.place [[X]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tile_gpu.place
// CHECK: tile_gpu.multiply f16 [[ONCE]],
// CHECK: scf.for
// CHECK: tile_gpu.multiply f16 [[ONCE]],
// CHECK: tile_gpu.place {{%.*}} group 0
// CHECK: scf.if
// CHECK: [[AGAIN:%.*]] = tile_gpu.place [[X]]
// CHECK: tile_gpu.multiply f16 [[AGAIN]],
