// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// No TMA: the tensor has six dimensions.

!V = tensor_view<2x2x2x2x64x64xf32, strides=[32768,16384,8192,4096,64,1]>
!T = partition_view<tile=(1x1x1x1x64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [2, 2, 2, 2, 64, 64], strides = [32768, 16384, 8192, 4096, 64, 1] : !V
  %w = make_tensor_view %b, shape = [2, 2, 2, 2, 64, 64], strides = [32768, 16384, 8192, 4096, 64, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i, %i, %i, %i, %i] : !T, tile<i32> -> tile<1x1x1x1x64x64xf32>, token
  store_view_tko weak %x, %d[%i, %i, %i, %i, %i, %i] : tile<1x1x1x1x64x64xf32>, !T, tile<i32> -> token
  return
}
// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: rank 6 is more than 5 [tma, no estimate]
