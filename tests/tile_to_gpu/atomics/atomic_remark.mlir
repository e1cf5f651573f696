// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// A remark for an update that returns a value only because of its order; none if the result is used, or for an exchange.

entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %a, %t0 = atomic_rmw_tko release device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %b, %t1 = atomic_rmw_tko acq_rel device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %c, %t2 = atomic_rmw_tko acq_rel device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %d, %t3 = atomic_rmw_tko acq_rel device %p, xchg, %c : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}

// CHECK: :7:13: remark: nothing uses the result of the atomic, but its order acq_rel has to read it: with order relaxed or release it is a reduction, which returns nothing [atomic, no estimate]
// CHECK-NOT: remark
