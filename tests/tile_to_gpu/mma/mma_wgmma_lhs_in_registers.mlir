// RUN: tilec compile %s --emit gpu-raw --target sm_90a
// The lhs of the second multiply is computed from the sums of the first: it stays in the registers of its threads.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<64x64xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<64x64xf16>, token
  %s = mmaf %x, %x, %z : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %e = exp2 %s : tile<64x64xf32>
  %h = ftof %e : tile<64x64xf32> -> tile<64x64xf16>
  %o = mmaf %h, %x, %z : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  store_view_tko weak %o, %tc[%i, %i] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK-NOT: producer threads
// CHECK: [[P:%.*]] = arith.truncf
// CHECK: tile_gpu.wgmma f16 [[P]], %{{.*}} : !tile_64x64xf16, !shared_64x64xf16 -> !tile_64x64xf32
