// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// If two dimensions have a stride of one, accesses are vectors along the dimension with more than one element.

!V = tensor_view<1024x1xf32, strides=[1,1]>
!T = partition_view<tile=(512x1), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1], strides = [1, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1], strides = [1, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<512x1xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<512x1xf32>, !T, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_view {{.*}} vector 4 along 0
// CHECK: tile_gpu.store_view {{.*}} vector 4 along 0
