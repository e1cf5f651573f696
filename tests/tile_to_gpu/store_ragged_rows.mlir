// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// TMA writes 16 bytes as a whole, so threads store rows that end elsewhere.

!V = tensor_view<64x4095xf32, strides=[4096,1]>
!T = partition_view<tile=(1x512), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %v = make_tensor_view %a, shape = [64, 4095], strides = [4096, 1] : !V
  %w = make_tensor_view %b, shape = [64, 4095], strides = [4096, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<1x512xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<1x512xf32>, !T, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.store_tile
// CHECK: tile_gpu.store_view
// CHECK: remark: the store does not use TMA: extent 1 is not known to be a multiple of 16 bytes, which TMA writes as a whole
// PTX-NOT: cp.async.bulk.tensor.2d.global
// PTX: st.global
