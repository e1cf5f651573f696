// RUN: tilec opt %s --passes register-budgets --target sm_90a
// Two tiles of 128 registers are live at once in `compute`; an equal share of 12 warps is 168 registers. They
// need more than there are, so `load` has the fewest that setmaxnreg takes.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)(128,0) shape=256x128"
!tile = tensor<256x128xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 8 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile_gpu.roles compute warps 8 {
    %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    %y = tile_gpu.load_view %p[%one, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    tile_gpu.store_view %y -> %p[%one, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
    tile_gpu.store_view %x -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
  } load warps 1 {
  }
}

// CHECK: tile_gpu.roles compute warps 8 registers 240 {
// CHECK: } load warps 1 registers 24 {
