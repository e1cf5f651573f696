// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A tile of tf32 is stored through a tensor map of f32, because a map of tf32 would round it.

!V = tensor_view<64x64xtf32, strides=[64,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<tf32>>, %q: tile<ptr<tf32>>) {
  %a = assume div_by<16>, %p : tile<ptr<tf32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : !V
  %d = make_partition_view %v : !T
  %b = assume div_by<16>, %q : tile<ptr<tf32>>
  %u = make_tensor_view %b, shape = [64, 64], strides = [64, 1] : !V
  %s = make_partition_view %u : !T
  %y, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xtf32>, token
  %x = permute %y [1, 0] : tile<64x64xtf32> -> tile<64x64xtf32>
  store_view_tko weak %x, %d[%i, %i] : tile<64x64xtf32>, !T, tile<i32> -> token
  return
}

// CHECK: [[M:%.*]] = tile_gpu.make_tensor_map "f32"
// CHECK: tile_gpu.store_tile %{{.*}} -> [[M]]
