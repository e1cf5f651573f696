// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// No TMA: the kernel computes a stride, but tensor maps are encoded at launch.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!D = tensor_view<1024x1024xf32, strides=[?,1]>
!T = partition_view<tile=(64x64), !V>
!S = partition_view<tile=(64x64), !D>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %m = assume div_by<4>, %n : tile<i32>
  %c = muli %m, %m : tile<i32>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [%c, 1] : tile<i32> -> !D
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !S
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<64x64xf32>, !S, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: strides are computed in the kernel [tma, no estimate]
