// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// tcgen05 multiplies signed and unsigned bytes into an accumulator of i32.

!A = tensor_view<1024x1024xi8, strides=[1024,1]>
!B = tensor_view<1024x1024xi8, strides=[1,1024]>
!C = tensor_view<1024x1024xi32, strides=[1024,1]>
!TA = partition_view<tile=(128x128), padding_value = zero, !A>
!TB = partition_view<tile=(128x128), padding_value = zero, !B>
!TC = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i32>>) {
  %a = assume div_by<16>, %p : tile<ptr<i8>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vb = make_tensor_view %a, shape = [1024, 1024], strides = [1, 1024] : !B
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %vb : !TB
  %tc = make_partition_view %vc : !TC
  %z = constant <i32: 0> : tile<128x128xi32>
  %x, %t0 = load_view_tko weak %ta[%i, %i] : !TA, tile<i32> -> tile<128x128xi8>, token
  %y, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<128x128xi8>, token
  %m = mmai %x, %y, %z unsigned signed : tile<128x128xi8>, tile<128x128xi8>, tile<128x128xi32>
  store_view_tko weak %m, %tc[%i, %i] : tile<128x128xi32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.multiply i8 lhs_unsigned {{.*}} : !shared_128x128xi8, !shared_128x128xi8_1 ->
// CHECK-NEXT: !tensor_128x128xi32
