// RUN: tilec opt %s --print-analysis
// The extents of an im2col view lie between those for the smallest and for the largest tensor: with a 3x3 window and
// padding of 1, images of 1 to 64 rows have 1 to 64 rows of output, and 31 columns with stride 2 have 16.
// Of 2 images, these are 2 * 16 to 2 * 64 * 16 pixels, in tiles of 16.

!T = tensor_view<2x?x31x24xf32, strides=[?,744,24,1]>
!V = tilex.im2col_view<tile=(16x16), window=[3, 3], dilation=[1, 1], stride=[1, 2], lower=[1, 1], upper=[1, 1], !T>
entry @k(%p: tile<ptr<f32>>, %height: tile<i32>, %image: tile<i32>) {
  %h = assume bounded<1, 64>, %height : tile<i32>
  %t = make_tensor_view %p, shape = [2, %h, 31, 24], strides = [%image, 744, 24, 1] : tile<i32> -> !T
  %v = tilex.make_im2col_view %t : !V
  %rows, %columns = tilex.get_im2col_output_shape %v : !V -> tile<i32>
  %tiles, %channels = tilex.get_im2col_index_space_shape %v : !V -> tile<i32>
  print_tko "%d %d %d %d", %rows, %columns, %tiles, %channels : tile<i32>, tile<i32>, tile<i32>, tile<i32> -> token
}

// CHECK: tilex.get_im2col_output_shape %{{.*}} {tilec.known = ["1..64", "16..16"]}
// CHECK: tilex.get_im2col_index_space_shape %{{.*}} {tilec.known = ["2..128", "2..2"]}
