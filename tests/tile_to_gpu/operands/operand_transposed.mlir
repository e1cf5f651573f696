// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A permutation of an operand is a view of its buffer and moves no data.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(64x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<64x64xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<64x64xf16>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
  %x2 = permute %x [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
  %m = mmaf %x2, %y, %z : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: contiguous=1 swizzle=128B
// CHECK: contiguous=0 swizzle=128B
// CHECK: [[V:%.*]] = tile_gpu.view_buffer
// CHECK: tile_gpu.multiply f16 [[V]],
// CHECK-NOT: tile_gpu.transpose
