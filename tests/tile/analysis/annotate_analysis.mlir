// RUN: tilec opt %s --print-analysis
// The results of the analyses are printed as attributes of the operations.

entry @k(%x: tile<i32>) {
  %0 = assume div_by<16>, %x : tile<i32>
  %1 = constant <i32: 3> : tile<i32>
  %2 = muli %0, %1 : tile<i32>
  %3 = iota : tile<64xi32>
  print_tko "%d %d\n", %2, %3 : tile<i32>, tile<64xi32> -> token
  return
}

// CHECK: muli {{.*}}tilec.known = "divisor 16"
// CHECK: iota {tilec.known = "run 64, divisor all, 0..63"}
