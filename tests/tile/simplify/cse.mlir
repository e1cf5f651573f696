// RUN: tilec opt %s --passes cse
// Merge equal operations.

entry @k(%x: tile<i32>) {
  %0 = addi %x, %x : tile<i32>
  %1 = addi %x, %x : tile<i32>
  print_tko "%d %d\n", %0, %1 : tile<i32>, tile<i32> -> token
  return
}

// CHECK: [[S:%.*]] = addi
// CHECK-NOT: addi
// CHECK: print_tko {{.*}}, [[S]], [[S]]
