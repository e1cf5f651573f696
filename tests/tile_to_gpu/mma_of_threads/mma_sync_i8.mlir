// RUN: tilec compile %s --emit gpu-raw --target sm_90a --remarks
// Integers keep their signs. Rows and columns are by pairs, so that ldmatrix can transpose pairs of bytes that TMA loads.

!A = tensor_view<1024x1024xi8, strides=[1024,1]>
!C = tensor_view<1024x1024xi32, strides=[1024,1]>
!TA = partition_view<tile=(32x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x32), padding_value = zero, !A>
!TC = partition_view<tile=(32x32), !C>
entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<i8>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <i32: 0> : tile<32x32xi32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<32x64xi8>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<64x32xi8>, token
  %m = mmai %x, %y, %z unsigned signed : tile<32x64xi8>, tile<64x32xi8>, tile<32x32xi32>
  store_view_tko weak %m, %tc[%i, %i] : tile<32x32xi32>, !TC, tile<i32> -> token
  return
}

// CHECK: !shared_64x32xi8 = buffer<64x32xi8, shared, contiguous=1 swizzle=32B>
// CHECK: register=(0,2)(1,0)(0,1) lane=(0,4)(0,8)(2,0)(4,0)(8,0) warp=(16,0)(0,16) shape=32x32
// CHECK: tile_gpu.mma_sync lhs_unsigned %
