// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// An accumulator that only the loop's multiply uses stays in tensor memory; the first iteration does not read it.

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
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 16> : tile<i32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%s = %z) -> (tile<128x64xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
    %m = mmaf %x, %y, %s : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %m : tile<128x64xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: [[D:%.*]] = tile_gpu.undefined
// CHECK: scf.for {{.*}} iter_args([[A:%.*]] = [[D]], [[READ:%.*]] = %false)
// CHECK-NOT: tile_gpu.read
// CHECK: [[M:%.*]] = tile_gpu.multiply {{.*}}, [[A]] accumulate [[READ]]
// CHECK: scf.yield [[M]], %true
// CHECK: tile_gpu.read
