// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A tensor map describes tensors of at most five dimensions.

!V = tensor_view<2x2x2x64x64xf32, strides=[16384,8192,4096,64,1]>
!T = partition_view<tile=(1x1x1x64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [2, 2, 2, 64, 64], strides = [16384, 8192, 4096, 64, 1] : !V
  %w = make_tensor_view %b, shape = [2, 2, 2, 64, 64], strides = [16384, 8192, 4096, 64, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i, %i, %i, %i] : !T, tile<i32> -> tile<1x1x1x64x64xf32>, token
  %y = permute %x [0, 1, 2, 4, 3] : tile<1x1x1x64x64xf32> -> tile<1x1x1x64x64xf32>
  store_view_tko weak %y, %d[%i, %i, %i, %i, %i] : tile<1x1x1x64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: tile_gpu.store_tile
// CHECK-NOT: remark: the store
