// RUN: tilec opt %s --passes expand-tilex,simplify,cse
// Bounded extents whose pixels and elements are fewer than 2^31: 32 bits. Each image has 16 x 16 pixels of output, 4 tiles, so all
// pixels of the tiles exist, the tile is known to be one of them, and a window without padding reads inside of the tensor: nothing
// is tested. The 3 channels do not fill a tile.

!T = tensor_view<?x32x32x3xf32, strides=[3072,96,3,1]>
!V = tilex.im2col_view<tile=(64x4), window=[1, 1], dilation=[1, 1], stride=[2, 2], lower=[0, 0], upper=[0, 0], !T>
entry @k(%p: tile<ptr<f32>>, %images: tile<i32>, %i: tile<i64>, %tiles: tile<i64>) {
  %n = assume bounded<500, 1000>, %images : tile<i32>
  %a = assume bounded<0, 1999>, %i : tile<i64>
  %c = assume bounded<0, 100>, %tiles : tile<i64>
  %t = make_tensor_view %p, shape = [%n, 32, 32, 3], strides = [3072, 96, 3, 1] : tile<i32> -> !T
  %v = tilex.make_im2col_view %t : !V
  %zero = constant <i64: 0> : tile<i64>
  %one = constant <i64: 1> : tile<i64>
  for %j in (%zero to %c, step %one) : tile<i64> {
    %x, %k = tilex.load_im2col_tko weak %v[%a, %j] offset [%zero, %zero] : !V, tile<i64> -> tile<64x4xf32>, token
    print_tko "%f", %x : tile<64x4xf32> -> token
  }
}

// Rows are 3 elements apart; there are 1024 of each image up to the last one.
// CHECK:      make_tensor_view %arg0, shape = [%{{[0-9]+}}, 3], strides = [3, 1] : tile<i32> -> tensor_view<?x3xf32, strides=[3,1]>
// CHECK:      trunci %{{.*}} : tile<i64> -> tile<i32>
// CHECK-NOT:  cmpi
// CHECK:      addi {{.*}} : tile<64xi32>
// CHECK:      for
// CHECK-NOT:  cmpi
// CHECK:      load_view_tko weak %{{.*}}[%{{.*}}, %{{.*}}] : gather_scatter_view<
// CHECK-SAME: tile<64xi32>, tile<i32>
