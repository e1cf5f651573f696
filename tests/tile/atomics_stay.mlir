// RUN: tilec compile %s --emit tile-opt --target sm_100a
// Atomics are neither hoisted, merged nor removed, though their operands are invariant, equal, and nothing reads them.

entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  for %i in (%zero to %n, step %one) : tile<i32> {
    %a, %t0 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %b, %t1 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %c, %t2 = atomic_cas_tko relaxed device %p, %one, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    continue
  }
  return
}

// CHECK: for %
// CHECK-NEXT: atomic_rmw_tko
// CHECK-NEXT: atomic_rmw_tko
// CHECK-NEXT: atomic_cas_tko
