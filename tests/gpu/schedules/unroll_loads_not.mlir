// RUN: tilec opt %s --passes unroll-loads,expand-schedules --target sm_100a
// A loop stays as it is if a token orders its load, if the address is carried by the loop, or if each thread loads
// enough bytes per iteration.

#row = "register=(0,1)(0,2) lane=(0,4)(0,8)(0,16)(0,32)(0,64) warp=(0,128)(0,256) shape=1x512"
#long = "register=(0,1)(0,2)(0,512)(0,1024) lane=(0,4)(0,8)(0,16)(0,32)(0,64) warp=(0,128)(0,256) shape=1x2048"
!x = tensor<1x512xf32, #row>
!y = tensor<1x2048xf32, #long>
tile_gpu.kernel @k(%p: i64, %q: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = tile_gpu.load_view %p[%zero, %i] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !x
    tile_gpu.store_view %x -> %q[%zero, %i] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !x
  }
  %last = scf.for %i = %zero to %n step %one iter_args(%j = %zero) -> (i32) : i32 {
    %x = tile_gpu.load_view %p[%zero, %j] extents [%one, %n] strides [%n, %one] vector 4 along 1 early : !x
    tile_gpu.store_view %x -> %q[%zero, %i] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !x
    %k = arith.addi %j, %n : i32
    scf.yield %k : i32
  }
  scf.for %i = %zero to %n step %one : i32 {
    %y = tile_gpu.load_view %p[%zero, %i] extents [%one, %n] strides [%n, %one] vector 4 along 1 early : !y
    tile_gpu.store_view %y -> %q[%zero, %i] extents [%one, %n] strides [%n, %one] vector 4 along 1 : !y
  }
}

// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.for
