// RUN: tilec compile %s --emit gpu-raw --target sm_90a
// Both loops carry the accumulator in the layout of the multiply: the loaded value is converted once.

!A = tensor_view<1024x1024xf16, strides=[1024,1]>
!C = tensor_view<1024x1024xf32, strides=[1024,1]>
!TA = partition_view<tile=(64x64), padding_value = zero, !A>
!TC = partition_view<tile=(64x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !A
  %vc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : !C
  %ta = make_partition_view %va : !TA
  %tc = make_partition_view %vc : !TC
  %z, %t0 = load_view_tko weak %tc[%i, %i] : !TC, tile<i32> -> tile<64x64xf32>, token
  %r = for %j in (%i to %n, step %one) : tile<i32> iter_values(%s = %z) -> (tile<64x64xf32>) {
    %u = for %k in (%i to %n, step %one) : tile<i32> iter_values(%v = %s) -> (tile<64x64xf32>) {
      %x, %t1 = load_view_tko weak %ta[%j, %k] : !TA, tile<i32> -> tile<64x64xf16>, token
      %m = mmaf %x, %x, %v : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %m : tile<64x64xf32>
    }
    continue %u : tile<64x64xf32>
  }
  store_view_tko weak %r, %tc[%i, %i] : tile<64x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: tile_gpu.load_view
// CHECK: tile_gpu.convert_layout
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tile_gpu.convert_layout
// CHECK: tile_gpu.wgmma
// CHECK-NOT: tile_gpu.convert_layout
