// RUN: tilec compile %s --emit gpu-raw --target sm_100a
// An assertion keeps its message; the condition keeps its layout, or is a scalar.

entry @k(%n: tile<i32>) {
  %t = iota : tile<64xi32>
  %z = constant <i32: 0> : tile<i32>
  %r = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %r : tile<1xi32> -> tile<64xi32>
  %below = cmpi less_than %t, %b, signed : tile<64xi32> -> tile<64xi1>
  %positive = cmpi greater_than %n, %z, signed : tile<i32> -> tile<i1>
  assert %below, "n is too small" : tile<64xi1>
  assert %positive, "n is not positive" : tile<i1>
  return
}

// CHECK: %[[BELOW:.*]] = arith.cmpi slt
// CHECK: %[[POSITIVE:.*]] = arith.cmpi sgt
// CHECK: tile_gpu.assert %[[BELOW]], "n is too small" : !tile_64xi1
// CHECK-NEXT: tile_gpu.assert %[[POSITIVE]], "n is not positive" : i1
