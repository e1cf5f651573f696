// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Instructions on vectors only add floats of at most 32 bits: f64, integers and exchanges are updated one by one.

entry @k(%p: tile<ptr<f64>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f64>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %l = iota : tile<1024xi32>
  %a1 = reshape %a : tile<ptr<f64>> -> tile<1xptr<f64>>
  %ab = broadcast %a1 : tile<1xptr<f64>> -> tile<1024xptr<f64>>
  %ao = offset %ab, %l : tile<1024xptr<f64>>, tile<1024xi32> -> tile<1024xptr<f64>>
  %b1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bb = broadcast %b1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %bo = offset %bb, %l : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %v = constant <f64: 1.0> : tile<1024xf64>
  %w = constant <f32: 1.0> : tile<1024xf32>
  %x, %t = atomic_rmw_tko relaxed device %ao, addf, %v : tile<1024xptr<f64>>, tile<1024xf64> -> tile<1024xf64>, token
  %y, %u = atomic_rmw_tko relaxed device %bo, xchg, %w : tile<1024xptr<f32>>, tile<1024xf32> -> tile<1024xf32>, token
  return
}

// CHECK: tile_gpu.atomic_global addf {{.*}} vector 1 order relaxed
// CHECK: tile_gpu.atomic_global xchg {{.*}} vector 1 order relaxed
