// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Threads whose vectors fill whole lines store a tile themselves: a copy through shared memory gains nothing.

!V = tensor_view<64x4096xf32, strides=[4096,1]>
!T = partition_view<tile=(1x4096), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %z = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [64, 4096], strides = [4096, 1] : !V
  %w = make_tensor_view %b, shape = [64, 4096], strides = [4096, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %z] : !T, tile<i32> -> tile<1x4096xf32>, token
  store_view_tko weak %x, %d[%i, %z] : tile<1x4096xf32>, !T, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.shared
// CHECK: tile_gpu.store_view {{.*}} vector 4 along 1
// CHECK-NOT: remark: the store
