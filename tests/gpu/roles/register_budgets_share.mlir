// RUN: tilec opt %s --passes register-budgets --target sm_90a
// The tiles of 128 registers are not live at the same time, so an equal share of 168 registers is enough.

#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)(128,0) shape=256x128"
!tile = tensor<256x128xf32, #rows>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 8 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile_gpu.roles compute warps 8 {
    %x = tile_gpu.load_view %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    tile_gpu.store_view %x -> %p[%zero, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
    %y = tile_gpu.load_view %p[%one, %zero] extents [%n, %n] strides [%n, %one] vector 1 padding "zero" : !tile
    tile_gpu.store_view %y -> %p[%one, %zero] extents [%n, %n] strides [%n, %one] vector 1 : !tile
  } load warps 1 {
  }
}

// CHECK-NOT: registers
