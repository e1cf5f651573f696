// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Scale factors in blocks of 128 rows by 4, as tensor cores read them, are copied by TMA.

!A = tensor_view<1024x1024xf8E4M3FN, strides=[1024,1]>
!S = tensor_view<8x8x32x16xf8E8M0FNU, strides=[4096,512,16,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(128x128), padding_value = zero, !A>
!TB = partition_view<tile=(128x128), padding_value = zero, !A>
!TS = partition_view<tile=(1x1x32x16), !S>
!TC = partition_view<tile=(128x128), !C>
entry @k(%p: tile<ptr<f8E4M3FN>>, %s: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f8E4M3FN>>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %as = assume div_by<16>, %s : tile<ptr<f8E8M0FNU>>
  %vs = make_tensor_view %as, shape = [8, 8, 32, 16], strides = [4096, 512, 16, 1] : !S
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %va : !TB
  %ts = make_partition_view %vs : !TS
  %tc = make_partition_view %vc : !TC
  %z = constant <f32: 0.0> : tile<128x128xf32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%sum = %z) -> (tile<128x128xf32>) {
    %x, %t0 = load_view_tko weak %ta[%i, %j] : !TA, tile<i32> -> tile<128x128xf8E4M3FN>, token
    %y, %t1 = load_view_tko weak %tb[%j, %i] : !TB, tile<i32> -> tile<128x128xf8E4M3FN>, token
    %u0, %t2 = load_view_tko weak %ts[%i, %j, %i, %i] : !TS, tile<i32> -> tile<1x1x32x16xf8E8M0FNU>, token
    %u1 = reshape %u0 : tile<1x1x32x16xf8E8M0FNU> -> tile<1x1x32x4x4xf8E8M0FNU>
    %u2 = permute %u1 [0, 3, 2, 1, 4] : tile<1x1x32x4x4xf8E8M0FNU> -> tile<1x4x32x1x4xf8E8M0FNU>
    %u = reshape %u2 : tile<1x4x32x1x4xf8E8M0FNU> -> tile<128x4xf8E8M0FNU>
    %v0, %t3 = load_view_tko weak %ts[%j, %i, %i, %i] : !TS, tile<i32> -> tile<1x1x32x16xf8E8M0FNU>, token
    %v1 = reshape %v0 : tile<1x1x32x16xf8E8M0FNU> -> tile<128x4xf8E8M0FNU>
    %v = permute %v1 [1, 0] : tile<128x4xf8E8M0FNU> -> tile<4x128xf8E8M0FNU>
    %m = mmaf_scaled %x, %y, %sum, %u, %v : tile<128x128xf8E4M3FN>, tile<128x128xf8E4M3FN>, tile<128x128xf32>, tile<128x4xf8E8M0FNU>, tile<4x128xf8E8M0FNU>
    continue %m : tile<128x128xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<128x128xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: box [16, 32, 1, 1] swizzle none
// CHECK: tile_gpu.load_tile {{.*}} : !shared_128x4xf8E8M0FNU
// CHECK: tile_gpu.place {{.*}} -> !shared_4x128xf8E8M0FNU
// CHECK: remark: the scale factors of the right operand go through registers: the scale factors do not lie in memory as tensor cores
