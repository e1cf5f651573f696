// RUN: tilec compile %s --emit gpu-raw --target sm_90a
// The first pixel of a tile of images whose extents are unknown is decoded without divisions of i64: ptxas calls a
// function for them, and serializes wgmma in kernels with calls.

!X = tensor_view<?x?x?x64xf16, strides=[?,?,64,1]>
!V = tilex.im2col_view<tile=(128x64), window=[3, 3], dilation=[1, 1], stride=[3, 1], lower=[1, 1], upper=[1, 1], !X>
!F = tensor_view<576x64xf16, strides=[64,1]>
!TF = partition_view<tile=(64x64), !F>
!C = tensor_view<?x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>, %h: tile<i32>, %w: tile<i32>,
         %sn: tile<i32>, %sh: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %c = assume div_by<16>, %r : tile<ptr<f32>>
  %n0 = assume bounded<0, ?>, %n : tile<i32>
  %h0 = assume bounded<0, ?>, %h : tile<i32>
  %w0 = assume bounded<0, ?>, %w : tile<i32>
  %tn = assume div_by<8>, %sn : tile<i32>
  %th = assume div_by<8>, %sh : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %vx = make_tensor_view %a, shape = [%n0, %h0, %w0, 64], strides = [%tn, %th, 64, 1] : tile<i32> -> !X
  %vf = make_tensor_view %b, shape = [576, 64], strides = [64, 1] : !F
  %vc = make_tensor_view %c, shape = [%n, 64], strides = [64, 1] : tile<i32> -> !C
  %v = tilex.make_im2col_view %vx : !V
  %tf = make_partition_view %vf : !TF
  %tc = make_partition_view %vc : !TC
  %x, %y, %z = get_tile_block_id : tile<i32>
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %j in (%zero to %three, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<128x64xf32>) {
    %m, %t1 = tilex.load_im2col_tko weak %v[%x, %zero] offset [%one, %j] : !V, tile<i32> -> tile<128x64xf16>, token
    %f, %t2 = load_view_tko weak %tf[%j, %zero] : !TF, tile<i32> -> tile<64x64xf16>, token
    %next = mmaf %m, %f, %acc : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %next : tile<128x64xf32>
  }
  store_view_tko weak %sum, %tc[%x, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: kind im2col
// CHECK-NOT: arith.{{div|rem}}{{.*}} i64
// CHECK: arith.divui {{.*}} : i32
// CHECK-NOT: arith.{{div|rem}}{{.*}} i64
// CHECK: tile_gpu.load_tile
// CHECK-NOT: arith.{{div|rem}}{{.*}} i64
