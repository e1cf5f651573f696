// RUN: tilec opt %s --passes expand-tilex,simplify,cse
// In mode w, a tile lies in one row: of 14 rows, each has ceil(8 * 14 / 32) = 4 tiles. The row is a scalar, and only the columns of
// the pixels are a tile.

!T = tensor_view<8x14x14x64xf16, strides=[12544,896,64,1]>
!V = tilex.im2col_view<tile=(32x64), window=[3, 3], dilation=[1, 1], stride=[1, 1], lower=[1, 1], upper=[1, 1], mode=w, !T>
entry @k(%p: tile<ptr<f16>>, %i: tile<i32>, %r: tile<i32>, %s: tile<i32>) {
  %a = assume bounded<0, 55>, %i : tile<i32>
  %t = make_tensor_view %p, shape = [8, 14, 14, 64], strides = [12544, 896, 64, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %zero = constant <i32: 0> : tile<i32>
  %x, %k = tilex.load_im2col_tko weak %v[%a, %zero] offset [%r, %s] : !V, tile<i32> -> tile<32x64xf16>, token
  print_tko "%f", %x : tile<32x64xf16> -> token
}

// CHECK:      [[TILE:%.*]] = assume bounded<0, 55>, %arg1
// CHECK:      make_tensor_view %arg0, shape = [1568, 64], strides = [64, 1]
// CHECK:      [[TILES:%.*]] = constant <i32: 4> : tile<i32>
// CHECK:      [[ROW:%.*]] = divi [[TILE]], [[TILES]] unsigned : tile<i32>
// CHECK:      [[TAKEN:%.*]] = muli [[ROW]], [[TILES]] : tile<i32>
// CHECK:      subi [[TILE]], [[TAKEN]] : tile<i32>
// CHECK:      [[WIDTH:%.*]] = constant <i32: 14> : tile<32xi32>
// CHECK:      divi %{{.*}}, [[WIDTH]] unsigned : tile<32xi32>
// CHECK:      cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<i32> -> tile<i1>
// CHECK:      cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<32xi32> -> tile<32xi1>
// CHECK:      load_view_tko
