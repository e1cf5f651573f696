// RUN: tilec opt %s --passes expand-packed-views,simplify,cse
// Six-bit elements: a load reads the bytes with the first and with the last bit of each element and masks the elements
// with a bit behind the last byte; a store writes byte 0, 1 and 2 of each group of four elements.

!T = tensor_view<4x?xi8, strides=[96,1]>
!V = tilex.packed_view<tile=(4x8), bits=6, !T>
entry @k(%p: tile<ptr<i8>>, %n: tile<i32>, %i: tile<i32>) {
  %t = make_tensor_view %p, shape = [4, %n], strides = [96, 1] : tile<i32> -> !T
  %v = tilex.make_packed_view %t : !V
  %x, %k = tilex.load_packed_tko weak %v[%i, %i] optimization_hints = <sm_100 = {latency = 3}> : !V, tile<i32> -> tile<4x8xi8>, token
  %s = tilex.store_packed_tko weak %x, %v[%i, %i] token = %k : tile<4x8xi8>, !V, tile<i32> -> token
}

// CHECK-NOT:     tilex
// The extent of 4 rows is that of the tile, so only the bytes of a row are compared with its extent.
// CHECK:         [[EXISTS:%.*]] = cmpi less_than {{.*}} : tile<8xi64> -> tile<8xi1>
// CHECK-NOT:     cmpi
// CHECK:         [[LOW:%.*]], [[FIRST:%.*]] = load_ptr_tko weak {{.*}} optimization_hints = <sm_100 = {latency = 3}> : tile<4x8xptr<i8>>, tile<4x8xi1>, tile<4x8xi8>
// CHECK:         shri [[LOW]]
// CHECK:         [[HIGH:%.*]], [[LAST:%.*]] = load_ptr_tko weak {{.*}} optimization_hints = <sm_100 = {latency = 3}> : tile<4x8xptr<i8>>, tile<4x8xi1>, tile<4x8xi8>
// CHECK:         shli [[HIGH]]
// CHECK:         [[TOKEN:%.*]] = join_tokens [[FIRST]], [[LAST]]
// CHECK-COUNT-4: extract {{.*}} : tile<4x2x4xi8> -> tile<4x2x1xi8>
// CHECK-COUNT-3: store_ptr_tko weak {{.*}} token=[[TOKEN]] : tile<4x2xptr<i8>>, tile<4x2xi8>, tile<4x2xi1> -> token
