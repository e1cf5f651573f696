// RUN: tilec opt %s --passes fold-constants
// Fold operations on constants.

entry @k() {
  %0 = constant <i32: 6> : tile<i32>
  %1 = constant <i32: 7> : tile<i32>
  %2 = muli %0, %1 : tile<i32>
  print_tko "%d\n", %2 : tile<i32> -> token
  return
}

// CHECK-NOT: muli
// CHECK: [[R:%.*]] = constant <i32: 42>
// CHECK: print_tko "%d{{.*}}", [[R]]
