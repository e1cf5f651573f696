// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// The result of a reduction has the layout of its operand without the dimension; a broadcast restores the dimension.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(32x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<32x64xf32>, token
  %r = reduce %x dim=1 identities=[0.0 : f32] : tile<32x64xf32> -> tile<32xf32>
  (%l: tile<f32>, %m: tile<f32>) {
    %n = addf %l, %m : tile<f32>
    yield %n : tile<f32>
  }
  %o = reshape %r : tile<32xf32> -> tile<32x1xf32>
  %y = broadcast %o : tile<32x1xf32> -> tile<32x64xf32>
  store_view_tko weak %y, %d[%i, %i] : tile<32x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: register=(0)(0)(2)(4) lane=(0)(0)(0)(0)(1) warp=(8)(16) shape=32"
// CHECK: tile_gpu.reduce
// CHECK: dimension 1
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: tile_gpu.reshape
// CHECK: tile_gpu.broadcast
// CHECK: tile_gpu.store_view
