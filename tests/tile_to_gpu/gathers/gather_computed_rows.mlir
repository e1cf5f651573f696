// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Indices that threads compute have the layout of the gathered tile along the rows, so that no thread sends them to others.

!V = tensor_view<1024x64xf32, strides=[64,1]>
!G = gather_scatter_view<tile=(32x64), !V, sparse_dim=0>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %two = constant <i32: 2> : tile<32xi32>
  %v = make_tensor_view %p, shape = [1024, 64], strides = [64, 1] : !V
  %w = make_tensor_view %q, shape = [1024, 64], strides = [64, 1] : !V
  %s = make_gather_scatter_view %v : !G
  %d = make_gather_scatter_view %w : !G
  %each = iota : tile<32xi32>
  %rows = muli %each, %two : tile<32xi32>
  %t, %t1 = load_view_tko weak %s[%rows, %zero] : !G, tile<32xi32>, tile<i32> -> tile<32x64xf32>, token
  store_view_tko weak %t, %d[%rows, %zero] : tile<32x64xf32>, !G, tile<32xi32>, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.convert_layout
// CHECK: [[ROWS:%.*]] = arith.muli {{.*}} : !tile_32xi32
// CHECK: tile_gpu.load_view {{.*}} indices [[ROWS]]
// CHECK: tile_gpu.store_view {{.*}} indices [[ROWS]]
