// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// After a permutation two threads hold the elements of a byte of the result: it is converted before the store.

!V = tensor_view<32x32xf4E2M1FN, strides=[32,1]>
!T = partition_view<tile=(32x32), !V>
entry @k(%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<f4E2M1FN>>) {
  %a = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [32, 32], strides = [32, 1] : !V
  %w = make_tensor_view %q, shape = [32, 32], strides = [32, 1] : !V
  %c = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %c[%i, %i] : !T, tile<i32> -> tile<32x32xf4E2M1FN>, token
  %y = permute %x [1, 0] : tile<32x32xf4E2M1FN> -> tile<32x32xf4E2M1FN>
  store_view_tko weak %y, %d[%i, %i] : tile<32x32xf4E2M1FN>, !T, tile<i32> -> token
  return
}

// CHECK: [[MOVED:%.*]] = tile_gpu.transpose
// CHECK: [[HALVES:%.*]] = tile_gpu.convert_layout [[MOVED]]
// CHECK: [[BYTES:%.*]] = tile_gpu.pack [[HALVES]] dimension 1
// CHECK: tile_gpu.store_view [[BYTES]]
