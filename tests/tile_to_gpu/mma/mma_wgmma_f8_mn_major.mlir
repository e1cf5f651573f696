// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// wgmma reads 8-bit operands only where K is contiguous; an operand contiguous along N goes through registers.

!A = tensor_view<1024x1024xf8E4M3FN, strides=[1024,1]>
!B = tensor_view<1024x1024xf8E4M3FN, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x128), padding_value = zero, !A>
!TB = partition_view<tile=(128x128), padding_value = zero, !B>
!TC = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<f8E4M3FN>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f8E4M3FN>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vb = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !B
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %vb : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x128xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x128xf8E4M3FN>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<128x128xf8E4M3FN>, token
  %m = mmaf %x, %y, %z fast_acc : tile<128x128xf8E4M3FN>, tile<128x128xf8E4M3FN>, tile<128x128xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<128x128xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.place
// CHECK: tile_gpu.wgmma f8E4M3FN
// CHECK: remark: TMA does not load the right operand: wgmma reads f8E4M3FN only where K is contiguous in memory
