// RUN: tilec opt %s --passes expand-tilex,cse
// Extents of arrays are less than 2^31, their product is not: rows have 64 bits, but positions have 32, and nothing is divided in 64. The position of
// the first pixel follows from the number of the tile, and those of the others from the first one.

!T = tensor_view<?x?x?x64xf16, strides=[?,?,64,1]>
!V = tilex.im2col_view<tile=(2x64), window=[3, 3], dilation=[1, 2], stride=[1, 1], lower=[1, 2], upper=[1, 2], !T>
entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %h: tile<i32>, %w: tile<i32>, %sn: tile<i32>, %sh: tile<i32>) {
  %images = assume bounded<0, 2147483647>, %n : tile<i32>
  %height = assume bounded<0, 2147483647>, %h : tile<i32>
  %width = assume bounded<0, 2147483647>, %w : tile<i32>
  %t = make_tensor_view %p, shape = [%images, %height, %width, 64], strides = [%sn, %sh, 64, 1] : tile<i32> -> !T
  %v = tilex.make_im2col_view %t : !V
  %i, %j, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %x, %k = tilex.load_im2col_tko weak %v[%i, %zero] offset [%zero, %zero] : !V, tile<i32> -> tile<2x64xf16>, token
  print_tko "%f", %x : tile<2x64xf16> -> token
}

// The number of the tile is divided, and the remainder doubled, as tiles have two pixels.
// CHECK:      [[TILE:%.*]], %{{.*}}, %{{.*}} = get_tile_block_id
// CHECK-NOT:  divi {{.*}} : tile<i64>
// CHECK:      [[ROW:%.*]] = divi [[TILE]], [[WIDTH:%.*]] unsigned : tile<i32>
// CHECK:      [[COLUMN:%.*]] = subi [[TILE]]
// CHECK:      [[LACKING:%.*]] = subi [[WIDTH]], [[COLUMN]]
// CHECK:      [[LESS:%.*]] = cmpi less_than [[COLUMN]], [[LACKING]], unsigned
// CHECK:      [[DOUBLED:%.*]] = addi [[COLUMN]], [[COLUMN]]
// CHECK:      [[REDUCED:%.*]] = subi [[COLUMN]], [[LACKING]]
// CHECK:      [[FIRST:%.*]] = select [[LESS]], [[DOUBLED]], [[REDUCED]]
// CHECK:      [[IMAGES:%.*]] = divi [[ROW]], [[HEIGHT:%.*]] unsigned : tile<i32>
// The pixels of the tile start there.
// CHECK:      iota : tile<2xi32>
// CHECK:      divi {{.*}} unsigned : tile<2xi32>
// CHECK:      [[CARRY:%.*]] = divi {{.*}} unsigned : tile<2xi32>
// CHECK:      exti [[IMAGES]] unsigned : tile<i32> -> tile<i64>
// CHECK:      exti [[CARRY]] unsigned : tile<2xi32> -> tile<2xi64>
// CHECK-NOT:  divi
// Positions before the first element are negative.
// CHECK:      exti %{{.*}} signed : tile<2xi32> -> tile<2xi64>
// CHECK:      exti %{{.*}} signed : tile<2xi32> -> tile<2xi64>
// CHECK:      cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<2xi64>
// CHECK:      cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<2xi32>
// CHECK:      cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<2xi32>
// CHECK-NOT:  cmpi
// CHECK:      load_view_tko weak
