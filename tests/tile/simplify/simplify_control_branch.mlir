// RUN: tilec opt %s --passes simplify-control
// Replace a branch on a constant condition by the region that executes.

entry @k(%x: tile<i32>) {
  %0 = constant <i1: true> : tile<i1>
  %1 = if %0 -> (tile<i32>) {
    yield %x : tile<i32>
  } else {
    %2 = addi %x, %x : tile<i32>
    yield %2 : tile<i32>
  }
  print_tko "%d\n", %1 : tile<i32> -> token
  return
}

// CHECK: entry @k([[X:%.*]]: tile<i32>)
// CHECK-NOT: if
// CHECK-NOT: addi
// CHECK: print_tko {{.*}}, [[X]]
