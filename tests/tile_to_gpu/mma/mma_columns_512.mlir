// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A tcgen05 multiply has at most 256 columns: two of them are side by side, and store their own slices.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x512), padding_value = zero, !A>
!TC = partition_view<tile=(128x512), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x512xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x64xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<64x512xf16>, token
  %m = mmaf %x, %y, %z : tile<128x64xf16>, tile<64x512xf16>, tile<128x512xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<128x512xf32>, !TC, tile<i32> -> token
  return
}

// CHECK-NOT: tile_gpu.mma_sync
// CHECK-COUNT-2: tile_gpu.multiply {{.*}} -> !tensor_128x256xf32
// CHECK-NOT: tile_gpu.multiply
