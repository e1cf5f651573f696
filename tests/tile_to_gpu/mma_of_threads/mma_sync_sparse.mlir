// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// Threads have the words of metadata of the two rows that they multiply: of row r and r + 8, or of successive rows of bytes.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!E = tensor_view<1024x64xi32, strides=[64,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(32x64), padding_value = zero, !A>
!TE = partition_view<tile=(32x4), padding_value = zero, !E>
!TB = partition_view<tile=(128x32), padding_value = zero, !A>
!TC = partition_view<tile=(32x32), !C>
entry @k(%p: tile<ptr<f16>>, %e: tile<ptr<i32>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %ve = make_tensor_view %e, shape = [1024, 64], strides = [64, 1] : !E
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %te = make_partition_view %ve : !TE
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<32x32xf32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<32x64xf16>, token
  %w, %t1 = load_view_tko weak %te[%i, %i] : !TE, tile<i32> -> tile<32x4xi32>, token
  %y, %t2 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<128x32xf16>, token
  %m = tilex.mma_sparse %x, %w, %y, %z : tile<32x64xf16>, tile<32x4xi32>, tile<128x32xf16>, tile<32x32xf32>
  store_view_tko weak %m, %tc[%i, %i] : tile<32x32xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: register=(0,2) lane=(8,0)(0,1)(1,0)(2,0)(4,0) warp=(16,0)(0,0) shape=32x4
// CHECK: tile_gpu.mma_sync %{{.*}} sparse %
// CHECK: the multiply is done by sparse mma.sync: sparse wgmma by 4 warps needs a multiple of 64 rows, the accumulator has 32
