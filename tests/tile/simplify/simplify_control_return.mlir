// RUN: tilec opt %s --passes simplify-control
// A branch whose condition becomes constant and that ends in `return` replaces the operations after it.

entry @k(%x: tile<i32>) {
  %0 = constant <i1: true> : tile<i1>
  %1 = if %0 -> (tile<i1>) {
    yield %0 : tile<i1>
  } else {
    %2 = constant <i1: false> : tile<i1>
    yield %2 : tile<i1>
  }
  if %1 {
    print_tko "taken %d\n", %x : tile<i32> -> token
    return
  }
  print_tko "never %d\n", %x : tile<i32> -> token
  return
}

// CHECK: print_tko "taken
// CHECK-NEXT: return
// CHECK-NOT: never
