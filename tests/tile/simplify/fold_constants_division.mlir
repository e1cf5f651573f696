// RUN: tilec opt %s --passes fold-constants
// Do not fold a division by zero, which is undefined.

entry @k() {
  %0 = constant <i32: 6> : tile<i32>
  %1 = constant <i32: 0> : tile<i32>
  %2 = divi %0, %1 signed : tile<i32>
  print_tko "%d\n", %2 : tile<i32> -> token
  return
}

// CHECK: constant <i32: 6>
// CHECK: divi
