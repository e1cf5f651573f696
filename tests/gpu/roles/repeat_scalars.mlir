// RUN: tilec opt %s --passes repeat-scalars --target sm_90a
// Roles with registers of their own compute the short scalars that they use. The quotient of two parameters is long, and
// stays in front with what is computed from it.

#one = "register= lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0)(0,0) shape=1x1"
!one = tensor<1x1xf32, #one>
tile_gpu.kernel @k(%p: i64, %n: i32, %m: i32) target "sm_90a" warps 8 {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %id = tile_gpu.program_id 0
  %row = arith.muli %id, %size : i32
  %tiles = arith.ceildivsi %n, %size : i32
  %quotient = arith.floordivsi %n, %m : i32
  %end = arith.minsi %quotient, %tiles : i32
  tile_gpu.roles compute warps 8 registers 240 {
    scf.for %k = %zero to %end step %step : i32 {
      %x = tile_gpu.load_view %p[%row, %k] extents [%n, %n] strides [%n, %step] vector 1 : !one
      tile_gpu.store_view %x -> %p[%k, %row] extents [%n, %n] strides [%n, %step] vector 1 : !one
    }
  } load warps 1 registers 24 {
    scf.for %k = %zero to %tiles step %step : i32 {
    }
  }
}

// CHECK: arith.constant 128
// CHECK-NEXT: arith.ceildivsi %arg1
// CHECK-NEXT: arith.floordivsi
// CHECK-NEXT: %[[END:.*]] = arith.minsi
// CHECK-NEXT: tile_gpu.roles compute warps 8 registers 240 {
// CHECK-NEXT: tile_gpu.program_id
// CHECK-NEXT: arith.muli
// CHECK-NEXT: scf.for {{.*}} to %[[END]]
// CHECK: } load warps 1 registers 24 {
// CHECK-NEXT: %[[TILES:.*]] = arith.ceildivsi %arg1
// CHECK-NEXT: scf.for {{.*}} to %[[TILES]]
