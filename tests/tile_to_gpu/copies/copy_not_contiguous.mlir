// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// No TMA: no dimension has a stride of one.

!V = tensor_view<?x?xf32, strides=[?,?]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [%m, %m], strides = [%m, %m] : tile<i32> -> !V
  %w = make_tensor_view %b, shape = [%m, %m], strides = [%m, %m] : tile<i32> -> !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: no dimension is known to be contiguous [tma, no estimate]
