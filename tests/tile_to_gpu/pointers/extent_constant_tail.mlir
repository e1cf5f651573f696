// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// A tile that is proven to be inside of its tensor needs no bounds checks.

!V = tensor_view<100x100xf32, strides=[100,1]>
!T = partition_view<tile=(32x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [100, 100], strides = [100, 1] : !V
  %w = make_tensor_view %b, shape = [100, 100], strides = [100, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<32x64xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<32x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_view
// CHECK: inbounds [true,
