// RUN: tilec opt %s --passes canonicalize
// Remove operations that have no effects and no uses.

entry @k(%x: tile<i32>) {
  %0 = addi %x, %x : tile<i32>
  %1 = muli %x, %x : tile<i32>
  print_tko "%d\n", %1 : tile<i32> -> token
  return
}

// CHECK-NOT: addi
// CHECK: muli
