// RUN: tilec opt %s --passes fold-constants
// Tile IR has no constants of i4: operations whose result is of i4 are left alone.

entry @k() {
  %0 = constant <i8: 6> : tile<4xi8>
  %1 = trunci %0 : tile<4xi8> -> tile<4xi4>
  %2 = unpack %0 : tile<4xi8> -> tile<8xi4>
  print_tko "%d %d\n", %1, %2 : tile<4xi4>, tile<8xi4> -> token
  return
}

// CHECK: [[T:%.*]] = trunci
// CHECK: [[U:%.*]] = unpack
// CHECK: print_tko "%d %d{{.*}}", [[T]], [[U]]
