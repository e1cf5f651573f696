// RUN: tilec opt %s --passes expand-tilex,simplify,cse
// A tile of 32 channels in slices of 8 is gathered as 4 rows of 8 channels for each pixel, so that vectors of a slice stay
// vectors; a tile of 4 channels is a part of a row of its slice.

!T = tensor_view<2x4x9x8xf16, strides=[288,72,8,1]>
!V = tilex.im2col_view<tile=(16x32), window=[3], dilation=[1], stride=[1], lower=[1], upper=[1], interleave=8, !T>
!P = tilex.im2col_view<tile=(16x4), window=[3], dilation=[1], stride=[1], lower=[1], upper=[1], interleave=8, !T>
entry @k(%p: tile<ptr<f16>>, %i: tile<i32>, %j: tile<i32>) {
  %a = assume bounded<0, 1>, %i : tile<i32>
  %b = assume bounded<0, 7>, %j : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [2, 4, 9, 8], strides = [288, 72, 8, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %w = tilex.make_im2col_view %t : !P
  %x, %k = tilex.load_im2col_tko weak %v[%a, %zero] offset [%zero] : !V, tile<i32> -> tile<16x32xf16>, token
  %q = tilex.store_im2col_tko weak %x, %v[%a, %zero] offset [%zero] token = %k : tile<16x32xf16>, !V, tile<i32> -> token
  %y, %l = tilex.load_im2col_tko weak %w[%a, %b] offset [%zero] : !P, tile<i32> -> tile<16x4xf16>, token
  %r = tilex.store_im2col_tko weak %y, %w[%a, %b] offset [%zero] token = %l : tile<16x4xf16>, !P, tile<i32> -> token
}

// CHECK-NOT: tilex
// CHECK:     [[TILE:%.*]] = assume bounded<0, 7>, %arg2
// CHECK:     [[ROWS:%.*]] = make_gather_scatter_view {{.*}} : gather_scatter_view<tile=(64x8), padding_value = zero, tensor_view<72x8xf16, strides=[8,1]>, sparse_dim=0>
// CHECK:     [[PARTS:%.*]] = make_gather_scatter_view {{.*}} : gather_scatter_view<tile=(16x4), padding_value = zero, tensor_view<72x8xf16, strides=[8,1]>, sparse_dim=0>
// Each pixel is repeated for the 4 slices, which are 9 rows apart.
// CHECK:     [[PIXELS:%.*]] = reshape {{.*}} : tile<16x4xi32> -> tile<64xi32>
// CHECK:     load_view_tko weak [[ROWS]][%{{[0-9]+}}, %cst_0_i32] inbounds = [false, true]
// CHECK:     [[SLICE:%.*]] = divi [[TILE]], %cst_2_i32{{.*}} unsigned
// CHECK:     muli [[SLICE]], %cst_9_i32
// CHECK:     [[PART:%.*]] = subi [[TILE]]
// CHECK:     [[CHANNEL:%.*]] = muli [[PART]], %cst_4_i32
// CHECK:     load_view_tko weak [[PARTS]][%{{[0-9]+}}, [[CHANNEL]]] inbounds = [false, true]
