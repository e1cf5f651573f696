// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Tensor cores read 32 bytes of each row at a time.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x8), padding_value = zero, !A>
!TB = partition_view<tile=(8x64), padding_value = zero, !A>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x8xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<8x64xf16>, token
  %m = mmaf %x, %y, %z : tile<128x8xf16>, tile<8x64xf16>, tile<128x64xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.mma_sync
// CHECK: remark: the multiply is done by mma.sync: tcgen05 reads 32 bytes along K, the operands have 8 elements of f16
