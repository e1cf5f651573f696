// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Addresses that are not consecutive are accessed one by one.

entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %l = iota : tile<1024xi32>
  %r = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %g = muli %l, %l : tile<1024xi32>
  %o = offset %b, %g : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %x, %t = load_ptr_tko weak %o : tile<1024xptr<f32>> -> tile<1024xf32>, token
  %s = store_ptr_tko weak %o, %x : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
}

// CHECK: arith.muli
// CHECK: tile_gpu.load_global {{.*}} vector 1
