// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A token orders a load after a store of other threads: a barrier is inserted between them.

entry @k(%p: tile<ptr<f32>>) {
  %l = iota : tile<128xi32>
  %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %o = offset %b, %l : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %x = constant <f32: 1.0> : tile<128xf32>
  %s = store_ptr_tko weak %o, %x : tile<128xptr<f32>>, tile<128xf32> -> token
  %y, %t = load_ptr_tko weak %o token=%s : tile<128xptr<f32>> -> tile<128xf32>, token
  %u = store_ptr_tko weak %o, %y token=%t : tile<128xptr<f32>>, tile<128xf32> -> token
  return
}

// CHECK: tile_gpu.store_global
// CHECK: tile_gpu.barrier
// CHECK: tile_gpu.load_global
