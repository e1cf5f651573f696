// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// The start of a tile with a large index would overflow, so the index is limited to one whose tile is outside of the
// tensor; a tile of 64 elements at index 2**25 starts at 2**31. TMA does not access tiles that start outside.

!L = tensor_view<?xf32, strides=[1]>
!T = partition_view<tile=(64), padding_value = zero, !L>
!M = tensor_view<?x64xf32, strides=[64,1]>
!D = partition_view<tile=(64x64), !M>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %e = assume bounded<0, ?>, %n : tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %l = make_tensor_view %a, shape = [%e], strides = [1] : tile<i32> -> !L
  %s = make_partition_view %l : !T
  %x, %t = load_view_tko weak %s[%i] : !T, tile<i32> -> tile<64xf32>, token
  %r = reshape %x : tile<64xf32> -> tile<64x1xf32>
  %w = broadcast %r : tile<64x1xf32> -> tile<64x64xf32>
  %m = make_tensor_view %b, shape = [%e, 64], strides = [64, 1] : tile<i32> -> !M
  %d = make_partition_view %m : !D
  %g, %h = load_view_tko weak %d[%z, %z] : !D, tile<i32> -> tile<64x64xf32>, token
  %k = permute %g [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  %f = addf %w, %k : tile<64x64xf32>
  store_view_tko weak %f, %d[%i, %z] : tile<64x64xf32>, !D, tile<i32> -> token
  return
}

// CHECK: [[LIMIT:%.*]] = arith.constant 33554432 : i32
// CHECK: [[INDEX:%.*]] = arith.minui %{{.*}}, [[LIMIT]] : i32
// CHECK: arith.muli [[INDEX]], %{{.*}} : i32
// CHECK: tile_gpu.load_view
// CHECK: [[INSIDE:%.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i32
// CHECK: scf.if [[INSIDE]] id {{[0-9]+}} {
// CHECK-NEXT: tile_gpu.store_tile
