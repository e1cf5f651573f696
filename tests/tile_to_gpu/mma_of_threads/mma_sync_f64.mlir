// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Only mma.sync has f64, on both targets. TMA loads both operands in the order of memory.

!A = tensor_view<1024x1024xf64, strides=[1024,1]>
!C = tensor_view<1024x1024xf64, strides=[1024,1]>
!TA = partition_view<tile=(64x32), padding_value = zero, !A>
!TB = partition_view<tile=(32x64), padding_value = zero, !A>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f64>>, %q: tile<ptr<f64>>) {
  %a = assume div_by<16>, %p : tile<ptr<f64>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f64: 0.0> : tile<64x64xf64>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<64x32xf64>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<32x64xf64>, token
  %m = mmaf %x, %y, %z : tile<64x32xf64>, tile<32x64xf64>, tile<64x64xf64>
  store_view_tko weak %m, %tc[%i, %i] : tile<64x64xf64>, !TC, tile<i32> -> token
  return
}

// CHECK: !shared_64x32xf64 = buffer<64x32xf64, shared, contiguous=1 swizzle=128B>
// CHECK: !shared_32x64xf64 = buffer<32x64xf64, shared, contiguous=1 swizzle=128B>
// CHECK: tile_gpu.mma_sync %
// CHECK: remark: the multiply is done by mma.sync: tcgen05 has no f64 operands [matrix-unit, no estimate]
