// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// Code after a `return` in a branch moves into the branch that does not return.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(32x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %g: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %f = constant <i32: 5> : tile<i32>
  %c = cmpi equal %g, %f, signed : tile<i32> -> tile<i1>
  if %c {
    return
  }
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<32x64xf32>, token
  store_view_tko weak %x, %d[%i, %i] : tile<32x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: scf.if
// CHECK-NOT: tile_gpu.load_view
// CHECK: else
// CHECK: tile_gpu.load_view
// CHECK: tile_gpu.store_view
