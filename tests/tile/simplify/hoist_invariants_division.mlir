// RUN: tilec opt %s --passes hoist-invariants
// Do not hoist a division: it may be undefined, and the loop may have zero iterations.

entry @k(%n: tile<i32>, %x: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  for %i in (%0 to %n, step %1) : tile<i32> {
    %2 = divi %x, %n signed : tile<i32>
    print_tko "%d\n", %2 : tile<i32> -> token
    continue
  }
  return
}

// CHECK-NOT: divi
// CHECK: for %
// CHECK: divi
