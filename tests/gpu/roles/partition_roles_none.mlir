// RUN: tilec opt %s --passes partition-roles --target sm_100a
// A kernel without asynchronous work is not split.

tile_gpu.kernel @k(%p: i64) target "sm_100a" warps 4 {
  %x = tile_gpu.program_id 0
  tile_gpu.barrier
}

// CHECK: tile_gpu.kernel @k
// CHECK-NOT: tile_gpu.roles
// CHECK: tile_gpu.barrier
