// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// An extent of i32 that is assumed to be non-negative, and a multiple of 16 bytes, fits a tensor map: the store uses TMA.

!V = tensor_view<?x?xf32, strides=[?,1]>
!T = partition_view<tile=(64x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %n = assume bounded<0, ?>, %m : tile<i32>
  %o = assume div_by<4>, %n : tile<i32>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [%o, %o], strides = [%o, 1] : tile<i32> -> !V
  %w = make_tensor_view %b, shape = [%o, %o], strides = [%o, 1] : tile<i32> -> !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x64xf32>, token
  %y = permute %x [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %y, %d[%i, %i] : tile<64x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: tile_gpu.make_tensor_map
// CHECK: tile_gpu.store_tile
// CHECK-NOT: remark: the store
