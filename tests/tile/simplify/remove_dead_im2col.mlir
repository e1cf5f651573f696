// RUN: tilec opt %s --passes remove-dead
// Remove an unused load through an im2col view with its view and unused extents; keep a store and its view.

!T = tensor_view<2x16x8xf32, strides=[128,8,1]>
!V = tilex.im2col_view<tile=(8x8), window=[3], dilation=[1], stride=[1], lower=[1], upper=[1], !T>
!W = tilex.im2col_view<tile=(8x8), window=[1], dilation=[1], stride=[1], lower=[0], upper=[0], !T>
entry @k(%p: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [2, 16, 8], strides = [128, 8, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %w = tilex.make_im2col_view %t : !W
  %count, %channels = tilex.get_im2col_index_space_shape %v : !V -> tile<i32>
  %x, %loaded = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%zero] : !V, tile<i32> -> tile<8x8xf32>, token
  %y = constant <f32: 1.0> : tile<8x8xf32>
  %stored = tilex.store_im2col_tko weak %y, %w[%zero, %zero] offset [%zero] : tile<8x8xf32>, !W, tile<i32> -> token
}

// CHECK-NOT: window=[3]
// CHECK: tilex.make_im2col_view
// CHECK-NOT: load_im2col_tko
// CHECK: tilex.store_im2col_tko
