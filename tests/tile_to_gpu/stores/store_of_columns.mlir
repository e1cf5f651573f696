// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A thread holds parts of columns after a transposition: rows are gathered in swizzled shared memory, and stored by TMA.

!V = tensor_view<64x64xf16, strides=[64,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : !V
  %w = make_tensor_view %b, shape = [64, 64], strides = [64, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf16>, token
  %y = permute %x [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
  store_view_tko weak %y, %d[%i, %i] : tile<64x64xf16>, !T, tile<i32> -> token
  return
}

// CHECK: box [64, 64] swizzle 128B
// CHECK: tile_gpu.store_tile
