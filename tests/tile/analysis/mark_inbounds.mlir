// RUN: tilec opt %s --passes mark-inbounds
// Mark the load of tile 1, which is inside of the tensor; do not mark the load of tile 2, which is outside.

entry @k(%p: tile<ptr<f32>>) {
  %i = constant <i32: 1> : tile<i32>
  %j = constant <i32: 2> : tile<i32>
  %v = make_tensor_view %p, shape = [128], strides = [1] : tensor_view<128xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(64), tensor_view<128xf32, strides=[1]>>
  %a, %t = load_view_tko weak %w[%i] : partition_view<tile=(64), tensor_view<128xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %b, %u = load_view_tko weak %w[%j] : partition_view<tile=(64), tensor_view<128xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  print_tko "%f %f\n", %a, %b : tile<64xf32>, tile<64xf32> -> token
  return
}

// CHECK: [%cst_1_i32] inbounds = [true]
// CHECK-NOT: inbounds
// CHECK: [%cst_2_i32] :
