// RUN: tilec compile %s --target sm_100a
// An update whose result nothing reads is red; an acquire reads memory, so it stays atom.

entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %x, %t0 = atomic_rmw_tko release device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %y, %t1 = atomic_rmw_tko acquire sys %p, xchg, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}

// CHECK: red.release.gpu.global.add.u32 [
// CHECK: atom.acquire.sys.global.exch.b32 %r
// CHECK-NOT: bar.sync
