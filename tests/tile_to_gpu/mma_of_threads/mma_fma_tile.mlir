// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Neither the tile nor its transpose has the 16 rows of an mma.sync fragment.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(8x32), padding_value = zero, !A>
!TB = partition_view<tile=(32x8), padding_value = zero, !A>
!TC = partition_view<tile=(8x8), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<8x8xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<8x32xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<32x8xf16>, token
  %m = mmaf %x, %y, %z : tile<8x32xf16>, tile<32x8xf16>, tile<8x8xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<8x8xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.dot
// CHECK: remark: the multiply is done by fma: tcgen05 needs 64 or a multiple of 128 rows, the accumulator has 8; mma.sync needs 16
// CHECK-SAME: rows or columns, the accumulator has 8x8 [matrix-unit, no estimate]
