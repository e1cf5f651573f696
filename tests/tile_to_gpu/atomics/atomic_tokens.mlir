// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Accesses that a token orders before or after an atomic are separated from it by a barrier; others are not.

entry @k(%p: tile<ptr<i32>>, %lock: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %old, %t0 = atomic_cas_tko acquire device %lock, %zero, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %t1 = store_ptr_tko weak %p, %old token = %t0 : tile<ptr<i32>>, tile<i32> -> token
  %x, %t2 = atomic_rmw_tko release device %lock, xchg, %zero token = %t1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %y, %t3 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}

// CHECK: tile_gpu.compare_and_swap_global {{.*}} order acquire
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.store_global
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.atomic_global xchg {{.*}} order release
// CHECK-NOT: tile_gpu.barrier
// CHECK: tile_gpu.atomic_global add {{.*}} order relaxed
