// RUN: tilec opt %s --passes simplify
// Replace x + 0 by x for integers; do not for floats, because -0 + 0 is +0.

entry @k(%x: tile<i32>, %f: tile<f32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = addi %x, %0 : tile<i32>
  %2 = constant <f32: 0.0> : tile<f32>
  %3 = addf %f, %2 rounding<nearest_even> : tile<f32>
  print_tko "%d %f\n", %1, %3 : tile<i32>, tile<f32> -> token
  return
}

// CHECK: entry @k([[X:%.*]]: tile<i32>, [[F:%.*]]: tile<f32>)
// CHECK-NOT: addi
// CHECK: [[S:%.*]] = addf [[F]]
// CHECK: print_tko {{.*}}, [[X]], [[S]]
