// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// In a loop, TMA would take longer to issue the store of 256 bytes than memory to write them: each thread stores its elements
// of the sum, without the barriers of a staging buffer. TMA stores the 4096 bytes of the other sum, and the sum after the loop.

!A = tensor_view<64x64x16xf32, strides=[1024,16,1]>
!B = tensor_view<64x1024x16xf32, strides=[16384,16,1]>
!R = tensor_view<64x64xf32, strides=[64,1]>
!S = tensor_view<64x1024xf32, strides=[1024,1]>
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %r: tile<ptr<f32>>, %s: tile<ptr<f32>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %d = assume div_by<16>, %s : tile<ptr<f32>>
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [64, 64, 16], strides = [1024, 16, 1] : !A
  %vb = make_tensor_view %b, shape = [64, 1024, 16], strides = [16384, 16, 1] : !B
  %vr = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : !R
  %vs = make_tensor_view %d, shape = [64, 1024], strides = [1024, 1] : !S
  %pa = make_partition_view %va : partition_view<tile=(1x64x16), !A>
  %pb = make_partition_view %vb : partition_view<tile=(1x1024x16), !B>
  %pr = make_partition_view %vr : partition_view<tile=(1x64), !R>
  %ps = make_partition_view %vs : partition_view<tile=(1x1024), !S>
  for %j in (%z to %i, step %one) : tile<i32> {
    %x, %t = load_view_tko weak %pa[%j, %z, %z] : partition_view<tile=(1x64x16), !A>, tile<i32> -> tile<1x64x16xf32>, token
    %y, %u = load_view_tko weak %pb[%j, %z, %z] : partition_view<tile=(1x1024x16), !B>, tile<i32> -> tile<1x1024x16xf32>, token
    %small = reduce %x dim=2 identities=[0.0 : f32] : tile<1x64x16xf32> -> tile<1x64xf32> (%e: tile<f32>, %f: tile<f32>) {
      %g = addf %e, %f : tile<f32>
      yield %g : tile<f32>
    }
    %large = reduce %y dim=2 identities=[0.0 : f32] : tile<1x1024x16xf32> -> tile<1x1024xf32> (%e: tile<f32>, %f: tile<f32>) {
      %g = addf %e, %f : tile<f32>
      yield %g : tile<f32>
    }
    store_view_tko weak %small, %pr[%j, %z] : tile<1x64xf32>, partition_view<tile=(1x64), !R>, tile<i32> -> token
    store_view_tko weak %large, %ps[%j, %z] : tile<1x1024xf32>, partition_view<tile=(1x1024), !S>, tile<i32> -> token
    continue
  }
  %last, %w = load_view_tko weak %pa[%i, %z, %z] : partition_view<tile=(1x64x16), !A>, tile<i32> -> tile<1x64x16xf32>, token
  %sum = reduce %last dim=2 identities=[0.0 : f32] : tile<1x64x16xf32> -> tile<1x64xf32> (%e: tile<f32>, %f: tile<f32>) {
    %g = addf %e, %f : tile<f32>
    yield %g : tile<f32>
  }
  store_view_tko weak %sum, %pr[%i, %z] : tile<1x64xf32>, partition_view<tile=(1x64), !R>, tile<i32> -> token
  return
}

// CHECK: scf.for
// CHECK: tile_gpu.store_view {{.*}} -> %arg2
// CHECK: tile_gpu.store_tile
// CHECK: tile_gpu.store_tile
