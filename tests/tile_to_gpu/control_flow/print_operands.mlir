// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A print keeps its format, and each operand keeps its own layout.

entry @k(%n: tile<i32>, %p: tile<ptr<f32>>) {
  %t = iota : tile<8xi32>
  %u = iota : tile<1024xi32>
  %a = print_tko "%d %u|%p\0A", %n, %t, %p : tile<i32>, tile<8xi32>, tile<ptr<f32>> -> token
  %b = print_tko "%d" , %u token=%a : tile<1024xi32> -> token
  return
}

// CHECK: tile_gpu.kernel @k(%[[N:.*]]: i32, %[[P:.*]]: i64)
// CHECK: %[[T:.*]] = tile_gpu.iota : !tile_8xi32
// CHECK: %[[U:.*]] = tile_gpu.iota : !tile_1024xi32
// CHECK: tile_gpu.print "%d %u|%p\0A", %[[N]], %[[T]], %[[P]] : i32, !tile_8xi32, i64
// CHECK-NEXT: tile_gpu.print "%d", %[[U]] : !tile_1024xi32
