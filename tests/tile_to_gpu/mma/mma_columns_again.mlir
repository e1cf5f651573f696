// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Three accumulators of 256 columns, one after the other: the third has the columns of one before.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x16), !A>
!TB = partition_view<tile=(16x256), !A>
!TC = partition_view<tile=(128x256), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %i = constant <i32: 0> : tile<i32>
  %j = constant <i32: 1> : tile<i32>
  %n = constant <i32: 4> : tile<i32>
  %a16 = assume div_by<16>, %p : tile<ptr<f16>>
  %va = make_tensor_view %a16, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x256xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x16xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<16x256xf16>, token
  %a = mmaf %x, %y, %z : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
  store_view_tko weak %a, %tc[%i, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  %w, %t2 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<16x256xf16>, token
  %b = mmaf %x, %w, %z : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
  store_view_tko weak %b, %tc[%j, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  %c = for %k in (%i to %n, step %j) : tile<i32> iter_values(%acc = %z) -> (tile<128x256xf32>) {
    %m = mmaf %x, %y, %acc : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
    continue %m : tile<128x256xf32>
  }
  store_view_tko weak %c, %tc[%n, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.multiply
// CHECK: tile_gpu.multiply
// CHECK: scf.for
// CHECK: tile_gpu.multiply
// CHECK-NOT: the multiply is done by mma.sync
