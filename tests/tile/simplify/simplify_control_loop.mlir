// RUN: tilec opt %s --passes simplify-control
// Inline loops of one iteration, remove a loop of zero iterations, and keep other loops.

entry @k(%n: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  for %i in (%0 to %1, step %1) : tile<i32> {
    print_tko "once %d\n", %i : tile<i32> -> token
    continue
  }
  for %i in (%1 to %0, step %1) : tile<i32> {
    print_tko "never %d\n", %i : tile<i32> -> token
    continue
  }
  for %i in (%0 to %n, step %1) : tile<i32> {
    print_tko "some %d\n", %i : tile<i32> -> token
    continue
  }
  %last = loop iter_values(%i = %n) : tile<i32> -> tile<i32> {
    print_tko "single %d\n", %i : tile<i32> -> token
    break %1 : tile<i32>
  }
  print_tko "result %d\n", %last : tile<i32> -> token
  return
}

// CHECK: print_tko "once {{.*}}", %cst_0_i32
// CHECK-NOT: never
// CHECK: for %
// CHECK: print_tko "some
// CHECK-NOT: {{ loop }}
// CHECK: print_tko "single {{.*}}", %arg0
// CHECK-NEXT: print_tko "result {{.*}}", %cst_1_i32
