// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Layout anchor of pointers: addresses known to be consecutive and aligned are accessed in vectors.

entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %l = iota : tile<1024xi32>
  %r = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %o = offset %b, %l : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %x, %t = load_ptr_tko weak %o : tile<1024xptr<f32>> -> tile<1024xf32>, token
  %s = store_ptr_tko weak %o, %x : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
}

// CHECK: register=(1)(2)(128) lane=(4)(8)(16)(32)(64) warp=(256)(512) shape=1024
// CHECK: tile_gpu.load_global {{.*}} vector 4
// CHECK: tile_gpu.store_global {{.*}} vector 4
