// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// A permutation moves no data: the layout of the result is the transposed layout of the operand.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(32x32), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %w = make_tensor_view %b, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %d = make_partition_view %w : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<32x32xf32>, token
  %y = permute %x [1, 0] : tile<32x32xf32> -> tile<32x32xf32>
  store_view_tko weak %y, %d[%i, %i] : tile<32x32xf32>, !T, tile<i32> -> token
  return
}

// CHECK: [[A:#.*]] = "register=(0,1)(0,2)(4,0) lane=(0,4)(0,8)(0,16)(1,0)(2,0) warp=(8,0)(16,0) shape=32x32"
// CHECK: "register=(1,0)(2,0)(0,4) lane=(4,0)(8,0)(16,0)(0,1)(0,2) warp=(0,8)(0,16) shape=32x32"
// CHECK: tile_gpu.transpose %{{.*}} [1, 0]
