// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// The layout depends on the element size: a vector of 16 bytes has two f64.

!V = tensor_view<1024x1024xf64, strides=[1024,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f64>>, %q: tile<ptr<f64>>) {
  %a = assume div_by<16>, %p : tile<ptr<f64>>
  %b = assume div_by<16>, %q : tile<ptr<f64>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf64>, token
  store_view_tko weak %x, %d[%i, %i] : tile<64x64xf64>, !T, tile<i32> -> token
  return
}

// CHECK: register=(0,1)(1,0)(2,0)(4,0)(8,0) lane=(0,2)(0,4)(0,8)(0,16)(0,32) warp=(16,0)(32,0) shape=64x64
// CHECK: tile_gpu.load_view
// CHECK: vector 2
