// RUN: tilec opt %s --passes expand-tilex,simplify,cse
// The number of a tile that may lie outside the index space is limited, so that its product does not wrap, and compared with the
// number of tiles: 2 x 4 x 8 pixels are 4 tiles. The channels are tested by the access, which has no inbounds.

!T = tensor_view<2x4x8x16xf16, strides=[512,128,16,1]>
!V = tilex.im2col_view<tile=(16x8), window=[1, 1], dilation=[1, 1], stride=[1, 1], lower=[0, 0], upper=[0, 0], !T>
entry @k(%p: tile<ptr<f16>>, %i: tile<i32>, %j: tile<i32>, %m: tile<i32>) {
  %t = make_tensor_view %p, shape = [2, 4, 8, 16], strides = [512, 128, 16, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %zero = constant <i32: 0> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x, %k = tilex.load_im2col_tko weak %v[%i, %j] offset [%zero, %zero] : !V, tile<i32> -> tile<16x8xf16>, token
  print_tko "%f", %x : tile<16x8xf16> -> token
  for %c in (%zero to %two, step %one) : tile<i32> {
    %y, %l = tilex.load_im2col_tko weak %v[%i, %c] offset [%zero, %zero] : !V, tile<i32> -> tile<16x8xf16>, token
    print_tko "%f", %y : tile<16x8xf16> -> token
  }
}

// CHECK:      [[LIMIT:%.*]] = constant <i32: 134217728> : tile<i32>
// CHECK:      [[BELOW:%.*]] = cmpi less_than %arg1, [[LIMIT]], unsigned
// CHECK:      [[TILE:%.*]] = select [[BELOW]], %arg1, [[LIMIT]]
// CHECK:      muli [[TILE]], %cst_16_i32
// CHECK:      [[TILES:%.*]] = constant <i32: 4> : tile<i32>
// CHECK:      cmpi less_than %{{.*}}, [[TILES]], unsigned : tile<i32> -> tile<i1>
// CHECK:      load_view_tko weak %{{.*}}[%{{.*}}, %{{.*}}] : gather_scatter_view
// A loop over the two tiles of channels stays inside.
// CHECK:      for
// CHECK:      load_view_tko weak %{{.*}}[%{{.*}}, %{{.*}}] inbounds = [false, true] : gather_scatter_view
