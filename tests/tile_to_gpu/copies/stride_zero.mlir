// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A stride that is the constant 0: a tile of one of the repeated elements has a map of one element, at coordinate 0 if the index is
// below the extent, else outside. Tiles of several of the elements are loaded by threads.

!A = tensor_view<?x64x64xf16, strides=[?,64,1]>
!B = tensor_view<64x64xf16, strides=[?,1]>
!C = tensor_view<64x64xf32, strides=[64,1]>
!TA = partition_view<tile=(1x64x64), padding_value = zero, !A>
!TB = partition_view<tile=(64x64), padding_value = zero, !B>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %images: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %n = assume bounded<0, ?>, %images : tile<i32>
  %i = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [%n, 64, 64], strides = [%i, 64, 1] : tile<i32> -> !A
  %vb = make_tensor_view %b, shape = [64, 64], strides = [%i, 1] : tile<i32> -> !B
  %vc = make_tensor_view %r, shape = [64, 64], strides = [64, 1] : !C
  %ta = make_partition_view %va : !TA
  %tb = make_partition_view %vb : !TB
  %tc = make_partition_view %vc : !TC
  %x, %y, %z = get_tile_block_id : tile<i32>
  %l, %t0 = load_view_tko weak %ta[%x, %i, %i] : !TA, tile<i32> -> tile<1x64x64xf16>, token
  %m, %t1 = load_view_tko weak %tb[%i, %i] : !TB, tile<i32> -> tile<64x64xf16>, token
  %s = reshape %l : tile<1x64x64xf16> -> tile<64x64xf16>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %d = mmaf %s, %m, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  store_view_tko weak %d, %tc[%i, %i] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK:     [[MAP:%.*]] = tile_gpu.make_tensor_map "f16" %arg0[{{%c64_i32[_0-9]*, %c64_i32[_0-9]*, %c1_i32[_0-9]*}}] strides
// CHECK:     [[INSIDE:%.*]] = arith.cmpi ult, %program_id, %arg3
// CHECK:     [[AT:%.*]] = arith.select [[INSIDE]], %c0_i32{{.*}}, %c1_i32
// CHECK:     tile_gpu.load_tile [[MAP]][{{%.*}}, {{%.*}}, [[AT]]]
// CHECK:     tile_gpu.load_view
// CHECK:     remark: the load does not use TMA: stride 0 is 0, and a tensor map has no stride of 0: pass a copy of the array for TMA
