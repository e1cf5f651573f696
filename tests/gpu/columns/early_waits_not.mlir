// RUN: tilec opt %s --passes make-channels,divide-columns,order-steps --target sm_100a
// The wait stays after all columns where threads compute no function of MUFU, where the multiplies of the loop take longer than
// the exponentials, and outside of loops.

!a = buffer<128x128xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<128x256xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
!e = buffer<128x256xf32, tensor, lanes=128>
!p = buffer<128x128xf16, tensor, lanes=128 packed>
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#wide = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64)(0,128) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x256"
!w = tensor<128x128xf32, #rows>
!h = tensor<128x128xf16, #rows>
!x = tensor<128x256xf32, #wide>
tile_gpu.kernel @k(%base: i64, %rows: i32, %n: i32) target "sm_100a" warps 4 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %no = arith.constant false
  %map = tile_gpu.make_tensor_map "f16" %base[%rows, %rows] strides [%rows] box [64, 128] swizzle 128B fill zero
  %q = tile_gpu.load_tile %map[%zero, %zero] : !a

  // CHECK: scf.for
  // CHECK: arith.addf {{.*}} : !tile_128x128xf32
  // CHECK-NEXT: tile_gpu.put_begin
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %map[%zero, %i] : !a
    %u = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %q, %k, %u accumulate %no : !a, !a -> !d
    %r = tile_gpu.read %s : !d -> !w
    %e = arith.addf %r, %r : !w
    %t = arith.truncf %e : !w to !h
    %p = tile_gpu.place %t : !h -> !p
    %f = tile_gpu.undefined : !d
    %o = tile_gpu.multiply f16 %p, %k, %f accumulate %no : !p, !a -> !d
    %out = tile_gpu.read %o : !d -> !w
    tile_gpu.print "%f", %out : !w
  }

  // CHECK: scf.for
  // CHECK: tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x128xf32
  // CHECK-NEXT: tile_gpu.put_begin
  scf.for %i = %zero to %n step %one : i32 {
    %k = tile_gpu.load_tile %map[%zero, %i] : !a
    %v = tile_gpu.load_tile %map[%zero, %i] : !b
    %u = tile_gpu.undefined : !d
    %s = tile_gpu.multiply f16 %q, %k, %u accumulate %no : !a, !a -> !d
    %r = tile_gpu.read %s : !d -> !w
    %e = tile_gpu.math "exp2.approx.ftz" %r : !w -> !w
    %t = arith.truncf %e : !w to !h
    %p = tile_gpu.place %t : !h -> !p
    %f = tile_gpu.undefined : !e
    %o = tile_gpu.multiply f16 %p, %v, %f accumulate %no : !p, !b -> !e
    %out = tile_gpu.read %o : !e -> !x
    tile_gpu.print "%f", %out : !x
  }

  // CHECK: tile_gpu.math "exp2.approx.ftz" {{.*}} : !tile_128x128xf32
  // CHECK-NEXT: tile_gpu.put_begin
  %k = tile_gpu.load_tile %map[%zero, %one] : !a
  %u = tile_gpu.undefined : !d
  %s = tile_gpu.multiply f16 %q, %k, %u accumulate %no : !a, !a -> !d
  %r = tile_gpu.read %s : !d -> !w
  %e = tile_gpu.math "exp2.approx.ftz" %r : !w -> !w
  %t = arith.truncf %e : !w to !h
  %p = tile_gpu.place %t : !h -> !p
  %f = tile_gpu.undefined : !d
  %o = tile_gpu.multiply f16 %p, %k, %f accumulate %no : !p, !a -> !d
  %out = tile_gpu.read %o : !d -> !w
  tile_gpu.print "%f", %out : !w
}
