// RUN: tilec opt %s --passes assign-roles --target sm_100a
// Accumulators that a loop returns are read where they are used first, one after the other, but before a multiply.

!b = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!c = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!s = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!w = tensor<128x64xf32, #whole>
tile_gpu.kernel @k(%n: i64, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %steps = arith.trunci %n : i64 to i32
  %left = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %right = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %result = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [32, 128] swizzle 128B fill zero
  %u = tile_gpu.undefined : !d
  %t = tile_gpu.undefined : !d
  %r = tile_gpu.undefined : !d
  // CHECK: [[SUMS:%.*]]:3 = scf.for
  %sums:3 = scf.for %i = %zero to %steps step %one iter_args(%x = %u, %y = %t, %z = %r) -> (!d, !d, !d) : i32 {
    %a = tile_gpu.load_tile %left[%zero, %i] : !b
    %v = tile_gpu.load_tile %right[%zero, %i] : !c
    %m = tile_gpu.multiply f16 %a, %v, %x accumulate %yes : !b, !c -> !d
    %o = tile_gpu.multiply f16 %a, %v, %y accumulate %yes : !b, !c -> !d
    %q = tile_gpu.multiply f16 %a, %v, %z accumulate %yes : !b, !c -> !d
    scf.yield %m, %o, %q : !d, !d, !d
  }
  // CHECK: tile_gpu.read [[SUMS]]#2
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: [[FIRST:%.*]] = tile_gpu.read [[SUMS]]#0
  // CHECK-NEXT: arith.negf [[FIRST]]
  %first = tile_gpu.read %sums#0 : !d -> !w
  %second = tile_gpu.read %sums#1 : !d -> !w
  %third = tile_gpu.read %sums#2 : !d -> !w
  %row = arith.muli %steps, %steps : i32
  %e = arith.negf %first : !w
  %placed = tile_gpu.place %e : !w -> !s
  tile_gpu.store_tile %placed -> %result[%zero, %row] : !s
  // CHECK: tile_gpu.store_tile
  // CHECK: [[SECOND:%.*]] = tile_gpu.read [[SUMS]]#1
  // CHECK-NEXT: arith.negf [[SECOND]]
  %f = arith.negf %second : !w
  %stored = tile_gpu.place %f : !w -> !s
  tile_gpu.store_tile %stored -> %result[%zero, %zero] : !s
  %a = tile_gpu.load_tile %left[%zero, %zero] : !b
  %v = tile_gpu.load_tile %right[%zero, %zero] : !c
  %undefined = tile_gpu.undefined : !d
  %last = tile_gpu.multiply f16 %a, %v, %undefined accumulate %yes : !b, !c -> !d
  %l = tile_gpu.read %last : !d -> !w
  tile_gpu.print "%f %f", %third, %l : !w, !w
}

// A use in a branch is a use, and a branch that multiplies may need the columns.
tile_gpu.kernel @branches(%n: i64, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %steps = arith.trunci %n : i64 to i32
  %left = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %right = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %u = tile_gpu.undefined : !d
  %t = tile_gpu.undefined : !d
  // CHECK: [[SUMS:%.*]]:2 = scf.for
  %sums:2 = scf.for %i = %zero to %steps step %one iter_args(%x = %u, %y = %t) -> (!d, !d) : i32 {
    %a = tile_gpu.load_tile %left[%zero, %i] : !b
    %v = tile_gpu.load_tile %right[%zero, %i] : !c
    %m = tile_gpu.multiply f16 %a, %v, %x accumulate %yes : !b, !c -> !d
    %o = tile_gpu.multiply f16 %a, %v, %y accumulate %yes : !b, !c -> !d
    scf.yield %m, %o : !d, !d
  }
  %first = tile_gpu.read %sums#0 : !d -> !w
  %second = tile_gpu.read %sums#1 : !d -> !w
  // CHECK: tile_gpu.read [[SUMS]]#1
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: arith.cmpi
  // CHECK-NEXT: [[FIRST:%.*]] = tile_gpu.read [[SUMS]]#0
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: tile_gpu.print "%f", [[FIRST]]
  %row = arith.muli %steps, %steps : i32
  %c = arith.cmpi slt, %row, %one : i32
  scf.if %c {
    tile_gpu.print "%f", %first : !w
    %a = tile_gpu.load_tile %left[%zero, %zero] : !b
    %v = tile_gpu.load_tile %right[%zero, %zero] : !c
    %undefined = tile_gpu.undefined : !d
    %last = tile_gpu.multiply f16 %a, %v, %undefined accumulate %yes : !b, !c -> !d
    %l = tile_gpu.read %last : !d -> !w
    tile_gpu.print "%f", %l : !w
  }
  %e = arith.addf %first, %second : !w
  tile_gpu.print "%f", %e : !w
}
