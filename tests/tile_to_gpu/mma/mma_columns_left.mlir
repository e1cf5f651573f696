// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A loop carries three accumulators of 256 columns: 512 columns are in use after the first two. The print runs once.

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
  %q16 = assume div_by<16>, %q : tile<ptr<f32>>
  %va = make_tensor_view %a16, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q16, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x256xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x16xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<16x256xf16>, token
  %w, %t2 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<16x256xf16>, token
  %a, %b, %c = for %k in (%i to %n, step %j) : tile<i32>
      iter_values(%p0 = %z, %p1 = %z, %p2 = %z) -> (tile<128x256xf32>, tile<128x256xf32>, tile<128x256xf32>) {
    %m0 = mmaf %x, %y, %p0 : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
    %m1 = mmaf %x, %w, %p1 : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
    %m2 = mmaf %x, %y, %p2 : tile<128x16xf16>, tile<16x256xf16>, tile<128x256xf32>
    continue %m0, %m1, %m2 : tile<128x256xf32>, tile<128x256xf32>, tile<128x256xf32>
  }
  store_view_tko weak %a, %tc[%i, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  store_view_tko weak %b, %tc[%j, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  store_view_tko weak %c, %tc[%n, %i] : tile<128x256xf32>, !TC, tile<i32> -> token
  print_tko "once" -> token
  return
}

// CHECK: scf.for
// CHECK: tile_gpu.multiply
// CHECK: tile_gpu.multiply
// CHECK: tile_gpu.mma_sync
// CHECK: mma_columns_left.mlir:28:{{.*}} remark: the multiply is done by mma.sync: other multiplies leave 0 columns of tensor memory, and this one needs 256
