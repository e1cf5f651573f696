// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// Each operand of an integer multiply has its own signedness.

!A = tensor_view<1024x1024xi8, strides=[1024,1]>
!C = tensor_view<1024x1024xi32, strides=[1024,1]>
!TA = partition_view<tile=(8x32), padding_value = zero, !A>
!TB = partition_view<tile=(32x8), padding_value = zero, !A>
!TC = partition_view<tile=(8x8), !C>
entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<i8>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <i32: 0> : tile<8x8xi32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<8x32xi8>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<32x8xi8>, token
  %m = mmai %x, %y, %z signed unsigned : tile<8x32xi8>, tile<32x8xi8>, tile<8x8xi32>
  store_view_tko weak %m, %tc[%i, %i] : tile<8x8xi32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.dot rhs_unsigned %
// CHECK: remark: the multiply is done by fma: wgmma
