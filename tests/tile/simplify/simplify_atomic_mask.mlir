// RUN: tilec opt %s --passes simplify
// A mask that is true everywhere is removed from an atomic; one that is false everywhere stays, with the atomic's order.

entry @k(%p: tile<ptr<i32>>) {
  %yes = constant <i1: true> : tile<i1>
  %no = constant <i1: false> : tile<i1>
  %one = constant <i32: 1> : tile<i32>
  %a, %t0 = atomic_rmw_tko relaxed device %p, add, %one, %yes : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
  %b, %t1 = atomic_cas_tko relaxed device %p, %a, %one, %yes
    : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
  %c, %t2 = atomic_rmw_tko acq_rel device %p, add, %b, %no : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token
  return
}

// CHECK: atomic_rmw_tko relaxed device [[P:%.*]], add, [[ONE:%.*]] : tile<ptr<i32>>, tile<i32> ->
// CHECK: atomic_cas_tko relaxed device [[P]], {{%.*}}, [[ONE]] : tile<ptr<i32>>, tile<i32> ->
// CHECK: atomic_rmw_tko acq_rel device [[P]], add, {{%.*}}, {{%.*}} : tile<ptr<i32>>, tile<i32>, tile<i1> ->
