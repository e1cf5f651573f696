// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Two loops carry the accumulator in tensor memory. The initial value has the layout of its load: the tile is converted
// before it is placed there.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 16> : tile<i32>
  %c, %t2 = load_view_tko weak %tc[%i, %i] : !TC, tile<i32> -> tile<128x64xf32>, token
  %r = for %k in (%i to %n, step %one) : tile<i32> iter_values(%o = %c) -> (tile<128x64xf32>) {
    %v = for %j in (%i to %n, step %one) : tile<i32> iter_values(%s = %o) -> (tile<128x64xf32>) {
      %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x64xf16>, token
      %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
      %m = mmaf %x, %y, %s : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
      continue %m : tile<128x64xf32>
    }
    continue %v : tile<128x64xf32>
  }
  %t3 = store_view_tko weak %r, %tc[%i, %i] token = %t2 : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: [[BEFORE:%.*]] = tile_gpu.convert_layout {{.*}} : [[OTHER:.*]] -> [[ACCUMULATOR:.*]]
// CHECK: [[C:%.*]] = tile_gpu.place [[BEFORE]]
// CHECK: [[R:%.*]]:2 = scf.for {{.*}} iter_args([[O:%.*]] = [[C]],
// CHECK:   [[V:%.*]]:2 = scf.for {{.*}} iter_args([[S:%.*]] = [[O]],
// CHECK:     [[M:%.*]] = tile_gpu.multiply {{.*}}, [[S]] accumulate
// CHECK:     scf.yield [[M]], %true
// CHECK:   scf.yield [[V]]#0
// CHECK: tile_gpu.read [[R]]#0
