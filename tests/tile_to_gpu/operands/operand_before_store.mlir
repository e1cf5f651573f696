// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Tokens order both loads before both stores. The first store cannot overtake the left operand, because it stores the product;
// the second stores a constant, and could overtake the right operand, which therefore does not use TMA.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %j = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %k in (%i to %n, step %j) : tile<i32> iter_values(%acc = %z) -> (tile<128x64xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %k] : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%k, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
    %m = mmaf %x, %y, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    store_view_tko weak %z, %tc[%k, %j] token=%t1 : tile<128x64xf32>, !TC, tile<i32> -> token
    %t2 = store_view_tko weak %m, %tc[%k, %i] token=%t0 : tile<128x64xf32>, !TC, tile<i32> -> token
    continue %m : tile<128x64xf32>
  }
  return
}

// CHECK: tile_gpu.load_tile
// CHECK: tile_gpu.load_view
// CHECK: remark: TMA does not load the right operand: a store of other values to its array comes after the load
