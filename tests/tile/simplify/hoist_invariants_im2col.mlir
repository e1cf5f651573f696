// RUN: tilec opt %s --passes hoist-invariants
// An im2col view is made before a loop; loads and stores through it stay in the loop.

!T = tensor_view<2x16x8xf32, strides=[128,8,1]>
!V = tilex.im2col_view<tile=(8x8), window=[3], dilation=[1], stride=[1], lower=[1], upper=[1], !T>
entry @k(%p: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  for %r in (%zero to %three, step %one) : tile<i32> {
    %t = make_tensor_view %p, shape = [2, 16, 8], strides = [128, 8, 1] : !T
    %v = tilex.make_im2col_view %t : !V
    %x, %loaded = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%zero] : !V, tile<i32> -> tile<8x8xf32>, token
    tilex.store_im2col_tko weak %x, %v[%one, %zero] offset [%zero] token = %loaded : tile<8x8xf32>, !V, tile<i32> -> token
  }
}

// CHECK: tilex.make_im2col_view
// CHECK: for
// CHECK: tilex.load_im2col_tko
// CHECK: tilex.store_im2col_tko
