// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// Layout anchor of a load: aligned rows are read in vectors of 16 bytes, whose elements one thread holds.

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
  store_view_tko weak %x, %d[%i, %i] : tile<32x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK: register=(0,1)(0,2)(2,0)(4,0) lane=(0,4)(0,8)(0,16)(0,32)(1,0) warp=(8,0)(16,0) shape=32x64
// CHECK: tile_gpu.load_view {{.*}} vector 4
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: tile_gpu.store_view {{.*}} vector 4
