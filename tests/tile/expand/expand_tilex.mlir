// RUN: tilec opt %s --passes expand-tilex,cse
// An im2col view of an image batch of unknown extents: the pixels of a tile are decoded once, before the loops over the taps,
// and only the test of their positions and the sum of the offset stand in the loops. 64 bits, because extents are unknown.
// Strides are multiples of 8 elements, so rows are 16 bytes apart and are read in vectors.

!T = tensor_view<?x?x?x64xf16, strides=[?,?,64,1]>
!V = tilex.im2col_view<tile=(128x64), window=[3, 3], dilation=[1, 2], stride=[2, 1], lower=[1, 2], upper=[1, 2], mode=im2col, !T>
entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %h: tile<i32>, %w: tile<i32>, %sn: tile<i32>, %sh: tile<i32>) {
  %image = assume div_by<8>, %sn : tile<i32>
  %row = assume div_by<16>, %sh : tile<i32>
  %t = make_tensor_view %p, shape = [%n, %h, %w, 64], strides = [%image, %row, 64, 1] : tile<i32> -> !T
  %v = tilex.make_im2col_view %t : !V
  %i, %j, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  for %r in (%zero to %three, step %one) : tile<i32> {
    for %s in (%zero to %three, step %one) : tile<i32> {
      %x, %k = tilex.load_im2col_tko weak %v[%i, %zero] offset [%r, %s] optimization_hints = <sm_100 = {latency = 3}> : !V, tile<i32> -> tile<128x64xf16>, token
      %q = tilex.store_im2col_tko weak %x, %v[%i, %zero] offset [%r, %s] token = %k : tile<128x64xf16>, !V, tile<i32> -> token
    }
  }
}

// CHECK-NOT:  tilex
// CHECK:      [[TENSOR:%.*]] = make_tensor_view %arg0, shape = [%{{[0-9]+}}, 64], strides = [8, 1]
// CHECK-NEXT: [[GATHERED:%.*]] = make_gather_scatter_view [[TENSOR]]
// CHECK:      [[TILE:%.*]], %{{.*}}, %{{.*}} = get_tile_block_id
// CHECK:      [[NUMBER:%.*]] = exti [[TILE]] unsigned
// CHECK:      [[FIRST:%.*]] = muli [[NUMBER]], %cst_128_i64
// CHECK:      iota : tile<128xi64>
// CHECK:      [[REST:%.*]] = divi {{.*}} unsigned : tile<128xi64>
// CHECK:      [[IMAGE:%.*]] = divi [[REST]], {{.*}} unsigned : tile<128xi64>
// CHECK-NOT:  divi
// CHECK:      [[EXISTS:%.*]] = cmpi less_than [[IMAGE]]
// CHECK:      for
// CHECK:      for
// CHECK-NOT:  divi
// CHECK:      cmpi less_than
// CHECK:      cmpi less_than
// CHECK:      andi [[EXISTS]]
// CHECK:      [[ROWS:%.*]] = select
// CHECK:      load_view_tko weak [[GATHERED]]{{\[}}[[ROWS]], %{{.*}}] optimization_hints = <sm_100 = {latency = 3}> inbounds = [false, true]
// CHECK-SAME: padding_value = zero, tensor_view<?x64xf16, strides=[8,1]>, sparse_dim=0>, tile<128xi64>, tile<i64>
// CHECK:      store_view_tko weak %{{.*}}, [[GATHERED]]{{\[}}[[ROWS]], %{{.*}}] token = %{{.*}} inbounds = [false, true]
// CHECK-NOT:  tilex
