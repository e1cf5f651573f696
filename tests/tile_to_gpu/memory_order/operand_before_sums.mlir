// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks=all
// Tokens order the load of the right operand before a store of the sums of its columns, which cannot overtake the load.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!S = tensor_view<1024x64xf32, strides=[64,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !A>
!TS = partition_view<tile=(1x64), !S>
!TC = partition_view<tile=(128x64), !S>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %r: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %j = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vs = make_tensor_view %q, shape = [1024, 64], strides = [64, 1] : !S
  %vc = make_tensor_view %r, shape = [1024, 64], strides = [64, 1] : !S
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %ts = make_partition_view %vs : !TS
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %k in (%i to %n, step %j) : tile<i32> iter_values(%acc = %z) -> (tile<128x64xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %k] : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%k, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
    %m = mmaf %x, %y, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    %w = ftof %y : tile<64x64xf16> -> tile<64x64xf32>
    %s = reduce %w dim=0 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32> (%e: tile<f32>, %f: tile<f32>) {
      %g = addf %e, %f : tile<f32>
      yield %g : tile<f32>
    }
    %row = reshape %s : tile<64xf32> -> tile<1x64xf32>
    %t2 = store_view_tko weak %row, %ts[%k, %i] token=%t1 : tile<1x64xf32>, !TS, tile<i32> -> token
    continue %m : tile<128x64xf32>
  }
  %t3 = store_view_tko weak %sum, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_tile
// CHECK: tile_gpu.load_tile
// CHECK-NOT: remark: TMA does not load the right operand
