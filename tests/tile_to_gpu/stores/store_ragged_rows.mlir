// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// RUN: tilec compile %s --target sm_90a --check-prefix=PTX
// TMA writes 16 bytes as a whole, so the map of rows that end elsewhere has whole multiples, and threads store the rest.

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

// CHECK: %[[EXTENT:.*]] = arith.constant 4095 : i32
// CHECK: %[[PARTS:.*]] = arith.divui %[[EXTENT]], %[[FACTOR:.*]] : i32
// CHECK: %[[WHOLE:.*]] = arith.muli %[[PARTS]], %[[FACTOR]] : i32
// CHECK: %[[MAP:.*]] = tile_gpu.make_tensor_map "f32" %arg1[%[[WHOLE]], {{.*}}]
// CHECK: tile_gpu.store_tile {{.*}} -> %[[MAP]][{{.*}}] end
// CHECK-NOT: remark: the store
// PTX: cp.async.bulk.tensor.2d.global
// PTX: @%{{.*}} st.global.f32 [%{{.*}}+8]
// PTX-NOT: st.global
// PTX: "extents": [4092, 64]
