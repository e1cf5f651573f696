// RUN: tilec opt %s --passes hoist-invariants
// Hoist a loop-invariant product.

entry @k(%n: tile<i32>, %x: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  for %i in (%0 to %n, step %1) : tile<i32> {
    %2 = muli %x, %x : tile<i32>
    %3 = addi %2, %i : tile<i32>
    print_tko "%d\n", %3 : tile<i32> -> token
    continue
  }
  return
}

// CHECK: [[P:%.*]] = muli [[X:%.*]], [[X]]
// CHECK: for %
// CHECK: addi [[P]]
