// RUN: tilec opt %s --passes expand-packed-views,simplify,cse
// Elements of 4 bits: a load reads the bytes as a tile, with zeros outside, and puts both elements of a byte side by side.

!T = tensor_view<4x?xi8, strides=[96,1]>
!V = tilex.packed_view<tile=(4x8), bits=4, !T>
!R = tensor_view<8x8xi8, strides=[8,1]>
!W = partition_view<tile=(4x8), !R>
entry @k(%p: tile<ptr<i8>>, %n: tile<i32>, %i: tile<i32>) {
  %t = make_tensor_view %p, shape = [4, %n], strides = [96, 1] : tile<i32> -> !T
  %v = tilex.make_packed_view %t : !V
  %x, %k = tilex.load_packed_tko weak %v[%i, %i] optimization_hints = <sm_100 = {latency = 3}> : !V, tile<i32> -> tile<4x8xi8>, token
  %r = make_tensor_view %p, shape = [8, 8], strides = [8, 1] : !R
  %w = make_partition_view %r : !W
  %s = store_view_tko weak %x, %w[%i, %i] token = %k : tile<4x8xi8>, !W, tile<i32> -> token
}

// CHECK-NOT:     tilex
// CHECK-NOT:     load_ptr_tko
// CHECK:         [[BYTES:%.*]], [[TOKEN:%.*]] = load_view_tko weak {{.*}} optimization_hints = <sm_100 = {latency = 3}> : partition_view<tile=(4x4), padding_value = zero
// CHECK:         [[LOW:%.*]] = andi [[BYTES]]
// CHECK:         [[FIRST:%.*]] = reshape [[LOW]] : tile<4x4xi8> -> tile<4x4x1xi8>
// CHECK:         [[HIGH:%.*]] = shri [[BYTES]], {{.*}} unsigned
// CHECK:         [[SECOND:%.*]] = reshape [[HIGH]] : tile<4x4xi8> -> tile<4x4x1xi8>
// CHECK:         [[BOTH:%.*]] = cat [[FIRST]], [[SECOND]] dim = 2
// CHECK:         [[ELEMENTS:%.*]] = reshape [[BOTH]] : tile<4x4x2xi8> -> tile<4x8xi8>
// CHECK:         store_view_tko weak [[ELEMENTS]], {{.*}} token = [[TOKEN]]
