// RUN: tilec compile %s --emit gpu-raw --target sm_100a --hint tma=off
// Parts of a tile have the layout of a block of the tile; an index known at run time is limited to the last part.

!V = tensor_view<1024x1024xf32, strides=[1024,1]>
!T = partition_view<tile=(64x32), !V>
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : !V
  %s = make_partition_view %v : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<64x32xf32>, token
  %e = extract %x[%n, %i] : tile<64x32xf32> -> tile<16x32xf32>
  %f = negf %e : tile<16x32xf32>
  %y = insert %f, %x[%one, %i] : tile<16x32xf32>, tile<64x32xf32>
  store_view_tko weak %y, %s[%i, %i] token = %t : tile<64x32xf32>, !T, tile<i32> -> token
  return
}

// CHECK: [[X:%.*]] = tile_gpu.load_view
// CHECK: [[N:%.*]] = arith.minui %arg1, %{{.*}} : i32
// CHECK: [[E:%.*]] = tile_gpu.extract [[X]][[[N]], %{{.*}}] : [[WHOLE:!.*]] -> [[PART:!.*]]
// CHECK: [[F:%.*]] = arith.negf [[E]] : [[PART]]
// CHECK: tile_gpu.insert [[F]], [[X]][%{{.*}}] : [[PART]], [[WHOLE]] -> [[WHOLE]]
// CHECK-NOT: tile_gpu.convert_layout
