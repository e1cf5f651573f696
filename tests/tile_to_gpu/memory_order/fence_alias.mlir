// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Barriers separate the fence from the accesses of other threads that tokens order before and after it.

entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %v = constant <i32: 7> : tile<i32>
  %t0 = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
  %t1 = memory_fence_alias_tko %t0
  %x, %t2 = load_ptr_tko weak %q token = %t1 : tile<ptr<i32>> -> tile<i32>, token
  %t3 = store_ptr_tko weak %p, %x token = %t2 : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK: tile_gpu.store_global
// CHECK: tile_gpu.barrier
// CHECK-NEXT: tile_gpu.fence_alias
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.load_global
