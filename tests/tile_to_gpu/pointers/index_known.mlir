// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// The number of a block, and the counter of a loop over the tiles of a tensor, are in range: the index is not limited.

!V = tensor_view<?x?xf16, strides=[?,1]>
!A = partition_view<tile=(128x64), padding_value = zero, !V>
!B = partition_view<tile=(64x64), padding_value = zero, !V>
!M = tensor_view<?x64xf32, strides=[64,1]>
!D = partition_view<tile=(128x64), !M>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %o: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %c = assume div_by<16>, %o : tile<ptr<f32>>
  %e = assume bounded<0, ?>, %n : tile<i32>
  %l = assume div_by<16>, %s : tile<i32>
  %ta = make_tensor_view %a, shape = [%e, %e], strides = [%l, 1] : tile<i32> -> !V
  %tb = make_tensor_view %b, shape = [%e, %e], strides = [%l, 1] : tile<i32> -> !V
  %tc = make_tensor_view %c, shape = [%e, 64], strides = [64, 1] : tile<i32> -> !M
  %va = make_partition_view %ta : !A
  %vb = make_partition_view %tb : !B
  %vc = make_partition_view %tc : !D
  %x, %y, %w = get_tile_block_id : tile<i32>
  %rows, %steps = get_index_space_shape %va : !A -> tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %start = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %k in (%z to %steps, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<128x64xf32>) {
    %f, %k1 = load_view_tko weak %va[%x, %k] : !A, tile<i32> -> tile<128x64xf16>, token
    %g, %k2 = load_view_tko weak %vb[%k, %y] : !B, tile<i32> -> tile<64x64xf16>, token
    %next = mmaf %f, %g, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %next : tile<128x64xf32>
  }
  store_view_tko weak %sum, %vc[%x, %z] : tile<128x64xf32>, !D, tile<i32> -> token
  return
}

// CHECK-NOT: arith.minui
// CHECK-NOT: scf.if
// CHECK: tile_gpu.load_tile
// CHECK: tile_gpu.store_tile
