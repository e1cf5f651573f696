// RUN: tilec opt %s --passes make-channels,divide-columns,order-steps --target sm_100a
// Threads wait for the slot of an operand before they compute the last columns of an exponential. The multiply into 32 columns ends
// while MUFU computes half of the columns, that into 128 columns while it computes three quarters. The sum needs all columns and
// stands before the last store, as the store of a part without `pending` waits for those before it. A mask of the exponentials is
// applied to their parts.

!a = buffer<128x128xf16, shared, contiguous=1 swizzle=128B>
!l = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!k = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
!n = buffer<128x32xf16, shared, contiguous=1 swizzle=64B>
!d = buffer<128x128xf32, tensor, lanes=128>
!e = buffer<128x32xf32, tensor, lanes=128>
!p = buffer<128x128xf16, tensor, lanes=128 packed>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#few = "register=(0,1)(0,2)(0,4)(0,8)(0,16) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x32"
#column = "register= lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!w = tensor<128x128xf32, #rows>
!h = tensor<128x128xf16, #rows>
!b = tensor<128x128xi1, #rows>
!x = tensor<128x32xf32, #few>
!c = tensor<128xf32, #column>
tile_gpu.kernel @k(%base: i64, %rows: i32, %n: i32) target "sm_100a" warps 4 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %no = arith.constant false
  %map = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [64, 128] swizzle 128B fill zero
  %small = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [32, 128] swizzle 64B fill zero
  %half = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [64, 64] swizzle 128B fill zero
  %q = tile_gpu.load_tile %map[%zero, %zero] : !a
  %l = tile_gpu.load_tile %map[%zero, %zero] : !l

  // CHECK: scf.for
  // CHECK: [[X:%.*]] = tile_gpu.load_tensor_memory
  // CHECK: [[E0:%.*]] = tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x32xf32
  // CHECK: [[E1:%.*]] = tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x32xf32
  // CHECK: [[P:%[^ ]*]] = tile_gpu.put_begin
  // CHECK: [[E2:%.*]] = tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x32xf32
  // CHECK: [[E3:%.*]] = tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x32xf32
  // CHECK: [[LOW:%.*]] = tile_gpu.cat [[E0]], [[E1]]
  // CHECK: [[HIGH:%.*]] = tile_gpu.cat [[E2]], [[E3]]
  // CHECK: [[WHOLE:%.*]] = tile_gpu.cat [[LOW]], [[HIGH]]
  // CHECK: arith.truncf
  // CHECK: tile_gpu.store_tensor_memory {{.*}}, [[P]] from 0 pending
  // CHECK: tile_gpu.store_tensor_memory {{.*}}, [[P]] from 96 pending
  // CHECK: tile_gpu.reduce [[WHOLE]]
  // CHECK: tile_gpu.store_tensor_memory {{.*}}, [[P]] from 112 :
  // CHECK: tile_gpu.put_commit
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %map[%zero, %i] : !a
    %v = tile_gpu.load_tile %small[%zero, %i] : !n
    %u = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %q, %k, %u accumulate %no : !a, !a -> !d
    %r = tile_gpu.read %s : !d -> !w
    %e = tile_gpu.math "exp2.approx.ftz" %r : !w -> !w
    %t = arith.truncf %e : !w to !h
    %p = tile_gpu.place %t : !h -> !p
    %x = tile_gpu.reduce %e dimension 1 identities [0.000000e+00 : f32] : !w -> !c (%y: f32, %z: f32) {
      %m = arith.addf %y, %z : f32
      tile_gpu.yield %m : f32
    }
    %f = tile_gpu.undefined : !e
    %o = tile_gpu.multiply f16 %p, %v, %f accumulate %no : !p, !n -> !e
    tile_gpu.print "%f", %x : !c
    %out = tile_gpu.read %o : !e -> !x
    tile_gpu.print "%f", %out : !x
  }

  // CHECK: scf.for
  // CHECK-COUNT-3: arith.select {{.*}} -> !tile_128x32xf32
  // CHECK: [[P:%[^ ]*]] = tile_gpu.put_begin
  // CHECK: tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x32xf32
  // CHECK: arith.select {{.*}} -> !tile_128x32xf32
  // CHECK: tile_gpu.store_tensor_memory {{.*}}, [[P]] from 0 pending
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %half[%zero, %i] : !k
    %v = tile_gpu.load_tile %map[%zero, %i] : !a
    %u = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %l, %k, %u accumulate %no : !l, !k -> !d
    %r = tile_gpu.read %s : !d -> !w
    %e = tile_gpu.math "exp2.approx.ftz" %r : !w -> !w
    %none = arith.constant dense<0.0> : !w
    %known = arith.cmpf olt, %r, %none : !w
    %g = arith.select %known, %e, %none : !b, !w, !w -> !w
    %t = arith.truncf %g : !w to !h
    %p = tile_gpu.place %t : !h -> !p
    %f = tile_gpu.undefined : !d
    %o = tile_gpu.multiply f16 %p, %v, %f accumulate %no : !p, !a -> !d
    %out = tile_gpu.read %o : !d -> !w
    tile_gpu.print "%f", %out : !w
  }
}
