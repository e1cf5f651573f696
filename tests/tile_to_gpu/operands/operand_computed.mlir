// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// An operand that is computed goes through registers; the other is still loaded by TMA.

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
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x64xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
  %x2 = addf %x, %x : tile<128x64xf16>
  %m = mmaf %x2, %y, %z : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: [[X:%.*]] = tile_gpu.load_view
// CHECK: tile_gpu.load_tile
// CHECK: [[Y:%.*]] = arith.addf [[X]], [[X]]
// CHECK: tile_gpu.place [[Y]]
// CHECK: tile_gpu.multiply
// CHECK: remark: TMA does not load the left operand: the operand is computed by 'cuda_tile.addf' [tma, no estimate]
