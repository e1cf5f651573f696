// RUN: tilec opt %s --passes divide-reductions,simplify,cse,remove-dead
// Reductions of a tile that is computed from a row and a column are computed in slices, which both reductions share.

!R = partition_view<tile=(1x64), tensor_view<1x?xf32, strides=[?,1]>>
!Q = partition_view<tile=(1x128), tensor_view<1x?xf32, strides=[?,1]>>
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [1, %n], strides = [%n, 1] : tile<i32> -> tensor_view<1x?xf32, strides=[?,1]>
  %w = make_partition_view %v : !R
  %u = make_partition_view %v : !Q
  %c, %ct = load_view_tko weak %u[%zero, %n] : !Q, tile<i32> -> tile<1x128xf32>, token
  %r, %rt = load_view_tko weak %w[%zero, %zero] : !R, tile<i32> -> tile<1x64xf32>, token
  %column = reshape %c : tile<1x128xf32> -> tile<128x1xf32>
  // CHECK-COUNT-4: load_view_tko {{.*}} -> tile<1x16xf32>, token
  // CHECK-NOT: tile<128x64xf32>
  // CHECK: [[A:%.*]] = cat {{.*}} dim = 1 : tile<128x2xf32>, tile<128x2xf32> -> tile<128x4xf32>
  // CHECK: reduce [[A]] dim=1
  // CHECK: [[B:%.*]] = cat {{.*}} dim = 1 : tile<128x2xf32>, tile<128x2xf32> -> tile<128x4xf32>
  // CHECK: reduce [[B]] dim=1
  %a = broadcast %column : tile<128x1xf32> -> tile<128x64xf32>
  %b = broadcast %r : tile<1x64xf32> -> tile<128x64xf32>
  %d = subf %a, %b : tile<128x64xf32>
  %s = reduce %d dim=1 identities=[0.0 : f32] : tile<128x64xf32> -> tile<128xf32> (%e: tile<f32>, %f: tile<f32>) {
    %g = addf %e, %f : tile<f32>
    yield %g : tile<f32>
  }
  %t0 = print_tko "%f", %s : tile<128xf32> -> token
  %q = mulf %d, %d : tile<128x64xf32>
  %m = reduce %q dim=1 identities=[0.0 : f32] : tile<128x64xf32> -> tile<128xf32> (%e: tile<f32>, %f: tile<f32>) {
    %g = maxf %e, %f : tile<f32>
    yield %g : tile<f32>
  }
  %t1 = print_tko "%f", %m : tile<128xf32> -> token
  return
}
