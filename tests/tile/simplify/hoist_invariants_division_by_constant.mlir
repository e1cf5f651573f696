// RUN: tilec opt %s --passes hoist-invariants
// Hoist a division by a constant that is always defined; keep divisions by 0 and by -1.

entry @k(%n: tile<i32>, %x: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %32 = constant <i32: 32> : tile<i32>
  %m = constant <i32: -1> : tile<i32>
  for %i in (%0 to %n, step %1) : tile<i32> {
    %2 = divi %x, %32 signed rounding<positive_inf> : tile<i32>
    %3 = remi %x, %32 signed : tile<i32>
    %4 = divi %x, %0 signed : tile<i32>
    %5 = remi %x, %m signed : tile<i32>
    print_tko "%d %d %d %d\n", %2, %3, %4, %5 : tile<i32>, tile<i32>, tile<i32>, tile<i32> -> token
    continue
  }
  return
}

// CHECK: divi {{.*}} rounding<positive_inf>
// CHECK: remi
// CHECK: for %
// CHECK: divi
// CHECK: remi
