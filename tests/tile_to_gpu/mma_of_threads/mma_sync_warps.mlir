// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// Two of the four warps share a block, because the tile has two fragments.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(16x32), padding_value = zero, !A>
!TB = partition_view<tile=(32x16), padding_value = zero, !A>
!TC = partition_view<tile=(16x16), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<16x16xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<16x32xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<32x16xf16>, token
  %m = mmaf %x, %y, %z : tile<16x32xf16>, tile<32x16xf16>, tile<16x16xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<16x16xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: register=(0,1)(8,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(0,8)(0,0) shape=16x16
// CHECK: tile_gpu.mma_sync
