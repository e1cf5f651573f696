// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Globals keep their elements and linkage; their alignment of 16 bytes permits vector accesses through pointers.

cuda_tile.module @m {
  global private constant @table <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
  global @aligned alignment = 64 <i32: 7> : tile<1024xi32>
  entry @k(%p: tile<ptr<f32>>) {
    %g = get_global @table : tile<ptr<f32>>
    %a = get_global @aligned : tile<ptr<i32>>
    %i = iota : tile<1024xi32>
    %r = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
    %b = broadcast %r : tile<1xptr<i32>> -> tile<1024xptr<i32>>
    %o = offset %b, %i : tile<1024xptr<i32>>, tile<1024xi32> -> tile<1024xptr<i32>>
    %x, %t = load_ptr_tko weak %o : tile<1024xptr<i32>> -> tile<1024xi32>, token
    %s = store_ptr_tko weak %o, %x token=%t : tile<1024xptr<i32>>, tile<1024xi32> -> token
    %y, %u = load_ptr_tko weak %g : tile<ptr<f32>> -> tile<f32>, token
    %v = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}

// CHECK: tile_gpu.global @table alignment 16 private {value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>}
// CHECK: tile_gpu.global @aligned alignment 64 {value = dense<7> : tensor<1024xi32>}
// CHECK: tile_gpu.global_address @table
// CHECK: tile_gpu.global_address @aligned
// CHECK: tile_gpu.load_global {{.*}} vector 4
