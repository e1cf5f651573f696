// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint allow_unconfirmed=on
// Taps 0 and 2 of stride 2 read pixels -1, 1, 3, .. and 1, 3, 5, ..: one run. Tap 1 reads 0, 2, 4, ..: another one.

!X = tensor_view<4x16x64xf16, strides=[1024,64,1]>
!V = tilex.im2col_view<tile=(128x64), window=[3], dilation=[1], stride=[2], lower=[1], upper=[1], mode=stationary, !X>
!F = tensor_view<192x64xf16, strides=[64,1]>
!TF = partition_view<tile=(64x64), !F>
!C = tensor_view<128x64xf32, strides=[64,1]>
!TC = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f32>>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %b = assume div_by<16>, %q : tile<ptr<f16>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %x = make_tensor_view %a, shape = [4, 16, 64], strides = [1024, 64, 1] : !X
  %f = make_tensor_view %b, shape = [192, 64], strides = [64, 1] : !F
  %c = make_tensor_view %r, shape = [128, 64], strides = [64, 1] : !C
  %v = tilex.make_im2col_view %x : !V
  %tf = make_partition_view %f : !TF
  %tc = make_partition_view %c : !TC
  %z = constant <f32: 0.0> : tile<128x64xf32>
  %sum = for %s in (%zero to %three, step %one) : tile<i32> iter_values(%before = %z) -> (tile<128x64xf32>) {
    %m, %t0 = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%s] : !V, tile<i32> -> tile<128x64xf16>, token
    %n, %t1 = load_view_tko weak %tf[%s, %zero] : !TF, tile<i32> -> tile<64x64xf16>, token
    %d = mmaf %m, %n, %before : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
    continue %d : tile<128x64xf32>
  }
  store_view_tko weak %sum, %tc[%zero, %zero] : tile<128x64xf32>, !TC, tile<i32> -> token
  return
}

// CHECK: kind im2col_w128 lower [0]
// CHECK: upper [-1] element_strides [1, 2, 1]
// CHECK: [[BEFORE:%.*]]:4 = tile_gpu.rows_in_interval {{.*}} period 8 from 0 to 1
// CHECK: [[ODD:%.*]] = tile_gpu.load_tile {{.*}} halo 2
// CHECK: [[ROWS:%.*]] = tile_gpu.place_rows [[ODD]]
// CHECK: tile_gpu.multiply f16 [[ROWS]], {{.*}} skip {{\[}}[[BEFORE]]#0, [[BEFORE]]#1, [[BEFORE]]#2, [[BEFORE]]#3]
// CHECK: [[EVEN:%.*]] = tile_gpu.load_tile {{.*}} halo 0
// CHECK: [[OTHER:%.*]] = tile_gpu.place_rows [[EVEN]]
// CHECK: tile_gpu.multiply f16 [[OTHER]], {{.*}} id 1 :
// CHECK: [[MOVED:%.*]] = tile_gpu.shift_rows [[ROWS]] from [[ODD]] tap 1
// CHECK-NOT: skip
// CHECK: tile_gpu.multiply f16 [[MOVED]], {{.*}} id 2 :
// CHECK-NOT: tile_gpu.load_tile {{.*}} halo
