// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Bytes that are unpacked to elements of 4 bits along their rows are loaded by TMA too.

!A = tensor_view<1024x512xi8, strides=[512,1]>
!S = tensor_view<1024x32xf8E8M0FNU, strides=[32,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !A>
!TSA = partition_view<tile=(128x4), !S>
!TSB = partition_view<tile=(4x64), !S, dim_map=[1, 0]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<i8>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<i8>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 512], strides = [512, 1] : !A
  %vs = make_tensor_view %s, shape = [1024, 32], strides = [32, 1] : !S
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %tsa = make_partition_view %vs : !TSA
  %tsb = make_partition_view %vs : !TSB
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%sum = %z) -> (tile<128x64xf32>) {
    %x0, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x64xi8>, token
    %x1 = reshape %x0 : tile<128x64xi8> -> tile<8192xi8>
    %x2 = unpack %x1 : tile<8192xi8> -> tile<16384xf4E2M1FN>
    %x = reshape %x2 : tile<16384xf4E2M1FN> -> tile<128x128xf4E2M1FN>
    %y0, %t1 = load_view_tko weak %tb[%i, %j] : !TB, tile<i32> -> tile<64x64xi8>, token
    %y1 = reshape %y0 : tile<64x64xi8> -> tile<4096xi8>
    %y2 = unpack %y1 : tile<4096xi8> -> tile<8192xf4E2M1FN>
    %y3 = reshape %y2 : tile<8192xf4E2M1FN> -> tile<64x128xf4E2M1FN>
    %y = permute %y3 [1, 0] : tile<64x128xf4E2M1FN> -> tile<128x64xf4E2M1FN>
    %u, %t2 = load_view_tko weak %tsa[%i, %j] : !TSA, tile<i32> -> tile<128x4xf8E8M0FNU>, token
    %v, %t3 = load_view_tko weak %tsb[%j, %i] : !TSB, tile<i32> -> tile<4x64xf8E8M0FNU>, token
    %m = mmaf_scaled %x, %y, %sum, %u, %v : tile<128x128xf4E2M1FN>, tile<128x64xf4E2M1FN>, tile<128x64xf32>, tile<128x4xf8E8M0FNU>, tile<4x64xf8E8M0FNU>
    continue %m : tile<128x64xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_tile {{.*}} : !shared_128x64xi8
// CHECK: tile_gpu.load_tile {{.*}} : !shared_64x64xi8
// CHECK: [[A:%.*]] = tile_gpu.view_buffer %{{.*}} : !shared_128x64xi8 -> !shared_128x128xf4E2M1FN
// CHECK: [[B:%.*]] = tile_gpu.view_buffer %{{.*}} : !shared_64x64xi8 -> !shared_128x64xf4E2M1FN
// CHECK: tile_gpu.multiply_scaled [[A]], [[B]] scaled
