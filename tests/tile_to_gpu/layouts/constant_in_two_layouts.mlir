// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// A constant of different elements is repeated in each layout that its users need, instead of converted.

entry @k(%p: tile<ptr<f32>>) {
  %c = constant <f32: [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tile<2x4xf32>
  %z = constant <i32: 0> : tile<i32>
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %v = make_tensor_view %a, shape = [2, 4], strides = [4, 1] : tensor_view<2x4xf32, strides=[4,1]>
  %w = make_tensor_view %a, shape = [2, 4], strides = [1, 4] : tensor_view<2x4xf32, strides=[1,4]>
  %rows = make_partition_view %v : partition_view<tile=(2x4), tensor_view<2x4xf32, strides=[4,1]>>
  %columns = make_partition_view %w : partition_view<tile=(2x4), tensor_view<2x4xf32, strides=[1,4]>>
  %x, %t = load_view_tko weak %rows[%z, %z] : partition_view<tile=(2x4), tensor_view<2x4xf32, strides=[4,1]>>, tile<i32> -> tile<2x4xf32>, token
  %y, %u = load_view_tko weak %columns[%z, %z] : partition_view<tile=(2x4), tensor_view<2x4xf32, strides=[1,4]>>, tile<i32> -> tile<2x4xf32>, token
  %m = addf %x, %c rounding<nearest_even> : tile<2x4xf32>
  %n = mulf %y, %c rounding<nearest_even> : tile<2x4xf32>
  %f = print_tko "%f %f", %m, %n : tile<2x4xf32>, tile<2x4xf32> -> token
  return
}

// CHECK-NOT: convert_layout
// CHECK-COUNT-2: arith.constant dense<{{.*}}1.000000e+00, 2.000000e+00
// CHECK-NOT: convert_layout
