// RUN: tilec compile %s --emit gpu-raw --target sm_90a
// A tile of 16 columns has no layout in the registers of 16 warps, which is needed only of an lhs that they computed.

!A = tensor_view<64x1024xf16, strides=[1024,1]>
!B = tensor_view<1024x64xf16, strides=[64,1]>
!C = tensor_view<64x64xf32, strides=[64,1]>
!TA = partition_view<tile=(64x16), !A>
!TB = partition_view<tile=(16x64), !B>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %end = constant <i32: 64> : tile<i32>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %va = make_tensor_view %a, shape = [64, 1024], strides = [1024, 1] : !A
  %vb = make_tensor_view %b, shape = [1024, 64], strides = [64, 1] : !B
  %vc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %vb : !TB
  %tc = make_partition_view %vc : !TC
  %sum = for %k in (%zero to %end, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<64x64xf32>) {
    %x, %t0 = load_view_tko weak %ta[%zero, %k] : !TA, tile<i32> -> tile<64x16xf16>, token
    %y, %t1 = load_view_tko weak %tb[%k, %zero] : !TB, tile<i32> -> tile<16x64xf16>, token
    %m = mmaf %x, %y, %acc : tile<64x16xf16>, tile<16x64xf16>, tile<64x64xf32>
    continue %m : tile<64x64xf32>
  }
  store_view_tko weak %sum, %tc[%zero, %zero] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.wgmma f16
// CHECK-SAME: !shared_64x16xf16
