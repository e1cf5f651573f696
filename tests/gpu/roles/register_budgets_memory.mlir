// RUN: tilec opt %s --passes register-budgets --target sm_90a
// Two blocks would need budgets, but their shared memory does not suffice: one block has registers enough. In the
// second kernel it does. A tile of one element is a scalar, so that the role of the loads needs the fewest registers.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128"
#one = "register= lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp= shape=1x1"
!tile = tensor<128x128xf32, #rows>
!one = tensor<1x1xi32, #one>
!large = buffer<256x256xf16, shared, contiguous=1 swizzle=128B>
!small = buffer<256x128xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @large(%p: i64, %n: i32) target "sm_90a" warps 4 attributes {tilec.occupancy = 2 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!large]>
  tile_gpu.roles compute warps 4 {
    %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    tile_gpu.store_view %x -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
  } load warps 1 {
  }
}
tile_gpu.kernel @small(%p: i64, %n: i32) target "sm_90a" warps 4 attributes {tilec.occupancy = 2 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!small]>
  tile_gpu.roles compute warps 4 {
    %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    %y = tile_gpu.load_view %p[%one, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    tile_gpu.store_view %x -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
  } load warps 1 {
    %single = tile_gpu.splat %n : i32 -> !one
    %end = arith.maxsi %single, %single : !one
    tile_gpu.store_view %end -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !one
  }
}

// CHECK: @large
// CHECK-NOT: occupancy
// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: @small
// CHECK-SAME: occupancy
// CHECK: tile_gpu.roles compute warps 4 registers 224 {
// CHECK: } load warps 1 registers 32 {
