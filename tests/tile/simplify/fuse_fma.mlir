// RUN: tilec opt %s --passes fuse-fma
// Fuse a product with a single use into the sum that uses it; keep a product with two uses.

entry @k(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) {
  %0 = mulf %a, %b rounding<nearest_even> : tile<f32>
  %1 = addf %0, %c rounding<nearest_even> : tile<f32>
  %2 = mulf %b, %c rounding<nearest_even> : tile<f32>
  %3 = addf %2, %2 rounding<nearest_even> : tile<f32>
  print_tko "%f %f\n", %1, %3 : tile<f32>, tile<f32> -> token
  return
}

// CHECK: fma %arg0, %arg1, %arg2
// CHECK: [[P:%.*]] = mulf %arg1, %arg2
// CHECK: addf [[P]], [[P]]
