// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// No TMA: a stride is not a multiple of 16 bytes.

!V = tensor_view<1024x1026xf32, strides=[1026,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1026], strides = [1026, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1026], strides = [1026, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: stride 0 is not known to be a multiple of 16 bytes: pass arrays with padded rows [tma, no estimate]
