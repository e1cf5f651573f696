// RUN: tilec opt %s --passes split-rows,simplify,cse,remove-dead
// Products of 256 rows, and all that is computed from their rows, become two chains of 128 rows.

!A = partition_view<tile=(256x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
!B = partition_view<tile=(64x32), tensor_view<?x32xf16, strides=[32,1]>>
!C = partition_view<tile=(256x32), tensor_view<?x32xf32, strides=[32,1]>>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>, %some: tile<i1>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %av = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
  %a = make_partition_view %av : !A
  %bv = make_tensor_view %p, shape = [%n, 32], strides = [32, 1] : tile<i32> -> tensor_view<?x32xf16, strides=[32,1]>
  %b = make_partition_view %bv : !B
  %cv = make_tensor_view %q, shape = [%n, 32], strides = [32, 1] : tile<i32> -> tensor_view<?x32xf32, strides=[32,1]>
  %c = make_partition_view %cv : !C
  %none = constant <f32: 0.0> : tile<256x32xf32>
  %least = constant <f32: -1.0> : tile<256xf32>
  // The loop carries both halves of the sum and of the largest elements; B is loaded once.
  // CHECK: for {{.*}} -> (tile<128x32xf32>, tile<128x32xf32>, tile<128xf32>, tile<128xf32>)
  // CHECK: load_view_tko {{.*}} -> tile<128x64xf16>, token
  // CHECK: [[B:%.*]], {{.*}} = load_view_tko {{.*}} -> tile<64x32xf16>, token
  // CHECK: mmaf {{.*}}, [[B]], {{.*}} : tile<128x64xf16>, tile<64x32xf16>, tile<128x32xf32>
  // CHECK: reduce {{.*}} dim=1 {{.*}} : tile<128x32xf32> -> tile<128xf32>
  // CHECK: load_view_tko {{.*}} -> tile<128x64xf16>, token
  // CHECK: mmaf {{.*}}, [[B]], {{.*}} : tile<128x64xf16>, tile<64x32xf16>, tile<128x32xf32>
  // CHECK: reduce {{.*}} dim=1 {{.*}} : tile<128x32xf32> -> tile<128xf32>
  // CHECK: continue {{.*}} : tile<128x32xf32>, tile<128x32xf32>, tile<128xf32>, tile<128xf32>
  %sum, %top = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %none, %t = %least)
      -> (tile<256x32xf32>, tile<256xf32>) {
    %x, %xt = load_view_tko weak %a[%i, %zero] : !A, tile<i32> -> tile<256x64xf16>, token
    %y, %yt = load_view_tko weak %b[%i, %zero] : !B, tile<i32> -> tile<64x32xf16>, token
    %m = mmaf %x, %y, %s : tile<256x64xf16>, tile<64x32xf16>, tile<256x32xf32>
    %r = reduce %m dim=1 identities=[0.0 : f32] : tile<256x32xf32> -> tile<256xf32> (%u: tile<f32>, %v: tile<f32>) {
      %w = maxf %u, %v : tile<f32>
      yield %w : tile<f32>
    }
    %g = maxf %t, %r : tile<256xf32>
    continue %m, %g : tile<256x32xf32>, tile<256xf32>
  }
  // CHECK: [[D:%.*]]:2 = if {{.*}} -> (tile<128x32xf32>, tile<128x32xf32>)
  %d = if %some -> (tile<256x32xf32>) {
    %row = reshape %top : tile<256xf32> -> tile<256x1xf32>
    %rows = broadcast %row : tile<256x1xf32> -> tile<256x32xf32>
    %e = divf %sum, %rows : tile<256x32xf32>
    yield %e : tile<256x32xf32>
  } else {
    yield %none : tile<256x32xf32>
  }
  // The token of the store stands for those of both halves.
  // CHECK: [[S0:%.*]] = store_view_tko weak [[D]]#0
  // CHECK: [[S1:%.*]] = store_view_tko weak [[D]]#1
  // CHECK: [[S:%.*]] = join_tokens [[S0]], [[S1]]
  // CHECK: print_tko "after" token=[[S]]
  %f = store_view_tko weak %d, %c[%zero, %zero] : tile<256x32xf32>, !C, tile<i32> -> token
  %h = print_tko "after" token = %f -> token
  return
}
