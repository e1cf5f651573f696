// RUN: tilec opt %s --passes repeat-scalars --target sm_90a
// Roles with equally many registers share what is computed in front of them.

tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %tiles = arith.ceildivsi %n, %size : i32
  tile_gpu.roles compute warps 4 {
    scf.for %k = %zero to %tiles step %step : i32 {
    }
  } load warps 1 {
    scf.for %k = %zero to %tiles step %step : i32 {
    }
  }
}

// CHECK: arith.ceildivsi
// CHECK: tile_gpu.roles
// CHECK-NOT: arith.ceildivsi
