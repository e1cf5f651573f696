// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// Tokens order all stores of a loop, of rows 4 i and 4 i + 1 of tiles: each must follow itself in earlier iterations, as 4 i may wrap,
// but not the other one, whose elements are different. A store at an unknown row must follow all of them.

entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %l = constant <f16: 1.0> : tile<128x16xf16>
  %r = constant <f16: 1.0> : tile<16x32xf16>
  %s = constant <f32: 0.0> : tile<128x32xf32>
  %x = mmaf %l, %r, %s : tile<128x16xf16>, tile<16x32xf16>, tile<128x32xf32>
  %q = assume div_by<16>, %p : tile<ptr<f32>>
  %v = make_tensor_view %q, shape = [4096, 32], strides = [32, 1] : tensor_view<4096x32xf32, strides=[32,1]>
  %w = make_partition_view %v : partition_view<tile=(128x32), tensor_view<4096x32xf32, strides=[32,1]>>
  %first = make_token : token
  %last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%t = %first) -> (token) {
    %rows = muli %i, %four : tile<i32>
    %others = addi %rows, %one : tile<i32>
    %a = store_view_tko weak %x, %w[%rows, %zero] token=%t : tile<128x32xf32>, partition_view<tile=(128x32), tensor_view<4096x32xf32, strides=[32,1]>>, tile<i32> -> token
    %b = store_view_tko weak %x, %w[%others, %zero] token=%a : tile<128x32xf32>, partition_view<tile=(128x32), tensor_view<4096x32xf32, strides=[32,1]>>, tile<i32> -> token
    continue %b : token
  }
  %c = store_view_tko weak %x, %w[%n, %zero] token=%last : tile<128x32xf32>, partition_view<tile=(128x32), tensor_view<4096x32xf32, strides=[32,1]>>, tile<i32> -> token
  return
}

// CHECK: scf.for
// CHECK: tile_gpu.store_tile {{.*}} after_stores after_itself
// CHECK: tile_gpu.store_tile {{.*}} after_stores after_itself
// CHECK: tile_gpu.store_tile {{.*}} after_stores : !shared
