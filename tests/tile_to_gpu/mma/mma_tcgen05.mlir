// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// On sm_100a a multiply of 128 rows is done by tcgen05; one row of the accumulator is one lane of tensor memory.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x128), padding_value = zero, !A>
!TC = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x128xf32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 16> : tile<i32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%s = %z) -> (tile<128x128xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x64xf16>, token
    %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<64x128xf16>, token
    %m = mmaf %x, %y, %s : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
    continue %m : tile<128x128xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x128xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x128
// CHECK: tile_gpu.multiply f16 %{{.*}} : !shared_128x64xf16, !shared_64x128xf16 -> !tensor_128x128xf32
// CHECK-NOT: wgmma
