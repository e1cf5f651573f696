// RUN: tilec opt %s --passes repeat-scalars --target sm_90a
// A scalar that a role uses only behind a loop is computed there, and takes no register in the loop.

#one = "register= lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0)(0,0) shape=1x1"
!one = tensor<1x1xf32, #one>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 8 {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %element = arith.constant dense<1.0> : !one
  %id = tile_gpu.program_id 0
  %row = arith.muli %id, %size : i32
  %tiles = arith.ceildivsi %n, %size : i32
  tile_gpu.roles compute warps 8 registers 240 {
    scf.for %k = %zero to %tiles step %step : i32 {
    }
    tile_gpu.store_view %element -> %p[%row, %zero] extents [%n, %n] strides [%n, %step] vector 1 : !one
  } load warps 1 registers 24 {
    scf.for %k = %zero to %row step %step : i32 {
    }
  }
}

// CHECK: tile_gpu.roles compute warps 8 registers 240 {
// CHECK-NEXT: arith.ceildivsi %arg1
// CHECK-NEXT: scf.for
// CHECK: }
// CHECK-NEXT: tile_gpu.program_id
// CHECK-NEXT: %[[ROW:.*]] = arith.muli
// CHECK-NEXT: tile_gpu.store_view {{.*}}[%[[ROW]],
// CHECK: } load warps 1 registers 24 {
// CHECK-NEXT: tile_gpu.program_id
// CHECK-NEXT: %[[END:.*]] = arith.muli
// CHECK-NEXT: scf.for {{.*}} to %[[END]]
