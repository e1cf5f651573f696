// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// The largest bounds that need no limit: a tile of 64 elements at index 2**26 - 1 ends at 2**32, and the last tile
// that starts below 2**31 has index 2**25 - 1.

!L = tensor_view<?xf32, strides=[1]>
!T = partition_view<tile=(64), padding_value = zero, !L>
!M = tensor_view<?x64xf32, strides=[64,1]>
!D = partition_view<tile=(64x64), !M>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %e = assume bounded<0, ?>, %n : tile<i32>
  %i0 = assume bounded<0, 67108863>, %i : tile<i32>
  %i1 = assume bounded<0, 67108864>, %i : tile<i32>
  %i2 = assume bounded<0, 33554431>, %i : tile<i32>
  %i3 = assume bounded<0, 33554432>, %i : tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %l = make_tensor_view %p, shape = [%e], strides = [1] : tile<i32> -> !L
  %s = make_partition_view %l : !T
  %x, %t = load_view_tko weak %s[%i0] : !T, tile<i32> -> tile<64xf32>, token
  %y, %u = load_view_tko weak %s[%i1] : !T, tile<i32> -> tile<64xf32>, token
  %w = addf %x, %y : tile<64xf32>
  %r = reshape %w : tile<64xf32> -> tile<64x1xf32>
  %c = broadcast %r : tile<64x1xf32> -> tile<64x64xf32>
  %m = make_tensor_view %b, shape = [%e, 64], strides = [64, 1] : tile<i32> -> !M
  %d = make_partition_view %m : !D
  %g, %h = load_view_tko weak %d[%z, %z] : !D, tile<i32> -> tile<64x64xf32>, token
  %k = permute %g [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  %f = addf %c, %k : tile<64x64xf32>
  store_view_tko weak %f, %d[%i2, %z] : tile<64x64xf32>, !D, tile<i32> -> token
  store_view_tko weak %f, %d[%i3, %z] : tile<64x64xf32>, !D, tile<i32> -> token
  return
}

// CHECK-NOT: arith.minui
// CHECK: tile_gpu.load_view
// CHECK: arith.minui
// CHECK: tile_gpu.load_view
// CHECK-NOT: scf.if
// CHECK: tile_gpu.store_tile
// CHECK: scf.if
// CHECK-NEXT: tile_gpu.store_tile
