// RUN: tilec compile %s --emit tile-opt --target sm_90a
// A loop that carries a tile and loads a row of 256 bytes per iteration loads eight at once, in tiles that overlap; a loop after it has the
// iterations that remain. A loop that passes no tile to its next iteration stays as it is.

!V = tensor_view<?x4096xf32, strides=[4096,1]>
!T = partition_view<tile=(1x64), !V>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %given: tile<i32>) {
  %n = assume bounded<0, ?>, %given : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 0.0> : tile<1x64xf32>
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %v = make_tensor_view %a, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %w = make_tensor_view %b, shape = [%n, 4096], strides = [4096, 1] : tile<i32> -> !V
  %from = make_partition_view %v : !T
  %to = make_partition_view %w : !T
  %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %x) -> (tile<1x64xf32>) {
    %row, %t = load_view_tko weak %from[%i, %zero] : !T, tile<i32> -> tile<1x64xf32>, token
    %added = addf %s, %row : tile<1x64xf32>
    store_view_tko weak %added, %to[%i, %zero] : tile<1x64xf32>, !T, tile<i32> -> token
    continue %added : tile<1x64xf32>
  }
  for %i in (%zero to %n, step %one) : tile<i32> {
    %row, %t = load_view_tko weak %from[%i, %zero] : !T, tile<i32> -> tile<1x64xf32>, token
    %added = addf %row, %row : tile<1x64xf32>
    store_view_tko weak %added, %to[%i, %one] : tile<1x64xf32>, !T, tile<i32> -> token
  }
  store_view_tko weak %sum, %to[%zero, %one] : tile<1x64xf32>, !T, tile<i32> -> token
  return
}

// CHECK:         [[ROWS:%.*]] = make_strided_view {{.*}} strided_view<tile=(8x64), traversal_strides=[1,64],
// CHECK:         for [[T:%.*]] in (%cst_0_i32 to {{.*}}, step %cst_8_i32)
// CHECK:           [[TILE:%.*]], {{.*}} = load_view_tko weak [[ROWS]][[[T]], %cst_0_i32]
// CHECK-COUNT-8:   extract [[TILE]]
// CHECK-NOT:       load_view_tko
// CHECK:         for {{.*}} step %cst_1_i32)
// CHECK:           load_view_tko {{.*}} -> tile<1x64xf32>
// CHECK:         for {{.*}} step %cst_1_i32)
// CHECK:           load_view_tko {{.*}} -> tile<1x64xf32>
