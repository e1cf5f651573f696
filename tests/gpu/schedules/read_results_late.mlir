// RUN: tilec opt %s --passes assign-roles --target sm_100a
// The first product is only stored: it is read after the operand of the second one is placed, where it is stored.

!b = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!c = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!s = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
#whole = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!w = tensor<128x64xf32, #whole>
!h = tensor<128x64xf16, #whole>
tile_gpu.kernel @k(%n: i64, %p: i64) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %no = arith.constant false
  %steps = arith.trunci %n : i64 to i32
  %left = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %right = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %result = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [32, 128] swizzle 128B fill zero
  // CHECK: scf.for
  // CHECK: [[FIRST:%.*]] = tile_gpu.multiply
  // CHECK-NOT: tile_gpu.read [[FIRST]]
  // CHECK: [[SECOND:%.*]] = tile_gpu.multiply
  // CHECK: [[X:%.*]] = tile_gpu.read [[FIRST]]
  // CHECK-NEXT: arith.negf [[X]]
  scf.for %i = %zero to %steps step %one : i32 {
    %a = tile_gpu.load_tile %left[%zero, %i] : !b
    %v = tile_gpu.load_tile %right[%zero, %i] : !c
    %u = tile_gpu.undefined : !d
    %m = tile_gpu.multiply f16 %a, %v, %u accumulate %no : !b, !c -> !d
    %x = tile_gpu.read %m : !d -> !w
    %g = tile_gpu.read %a : !b -> !h
    %f = arith.negf %g : !h
    %q = tile_gpu.place %f : !h -> !b
    %t = tile_gpu.undefined : !d
    %o = tile_gpu.multiply f16 %q, %v, %t accumulate %no : !b, !c -> !d
    %e = arith.negf %x : !w
    %r = tile_gpu.place %e : !w -> !s
    tile_gpu.store_tile %r -> %result[%zero, %i] : !s
    %y = tile_gpu.read %o : !d -> !w
    tile_gpu.print "%f", %y : !w
  }
}
