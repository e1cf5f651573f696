// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A scalar load is repeatable if tokens order it neither after nor before a store, even of its own value.

entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %r: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %y, %u = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %v = store_ptr_tko weak %q, %y token=%u : tile<ptr<i32>>, tile<i32> -> token
  %z, %w = load_ptr_tko weak %r token=%v : tile<ptr<i32>> -> tile<i32>, token
  %s = addi %x, %z : tile<i32>
  %o = store_ptr_tko weak %out, %s : tile<ptr<i32>>, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_global {{.*}} vector 1 repeatable
// CHECK: tile_gpu.load_global {{.*}} vector 1 :
// CHECK: tile_gpu.load_global {{.*}} vector 1 :
