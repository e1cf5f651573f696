// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Memory is allocated once per kernel; a barrier orders the accesses of each iteration after those of the preceding one.

entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %a = alloca num_elem = 3, alignment = 4 : tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %n : tile<ptr<i32>>, tile<i32> -> token
  for %i in (%zero to %n, step %one) : tile<i32> {
    %b = alloca num_elem = 64, alignment = 256 : tile<ptr<f64>>
    %c = ptr_to_ptr %b : tile<ptr<f64>> -> tile<ptr<i32>>
    %s = store_ptr_tko weak %c, %i : tile<ptr<i32>>, tile<i32> -> token
    %x, %u = load_ptr_tko weak %c token=%s : tile<ptr<i32>> -> tile<i32>, token
    %v = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
}

// CHECK: tile_gpu.allocate bytes 12 alignment 16
// CHECK: tile_gpu.allocate bytes 512 alignment 256
// CHECK: tile_gpu.store_global
// CHECK-NOT: barrier
// CHECK: scf.for
// CHECK-NEXT: tile_gpu.barrier
