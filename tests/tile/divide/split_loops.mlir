// RUN: tilec opt %s --passes split-loops
// Split the loop where (i + 1) * 64 exceeds n * n: neither loop has a branch. Keep the loop with a condition on a remainder.

entry @k(%m: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %size = constant <i32: 64> : tile<i32>
  %n = assume bounded<0, 1000>, %m : tile<i32>
  %x = constant <f32: 0.0> : tile<4xf32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%v = %x) -> (tile<4xf32>) {
    %row = muli %n, %n : tile<i32>
    %next = addi %i, %one : tile<i32>
    %end = muli %next, %size : tile<i32>
    %edge = cmpi greater_than %end, %row, signed : tile<i32> -> tile<i1>
    %w = if %edge -> (tile<4xf32>) {
      %y = negf %v : tile<4xf32>
      yield %y : tile<4xf32>
    } else {
      %y = exp %v : tile<4xf32>
      yield %y : tile<4xf32>
    }
    continue %w : tile<4xf32>
  }
  print_tko "split %f\n", %s : tile<4xf32> -> token
  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%v = %x) -> (tile<4xf32>) {
    %part = remi %i, %size signed : tile<i32>
    %edge = cmpi greater_than %part, %n, signed : tile<i32> -> tile<i1>
    %w = if %edge -> (tile<4xf32>) {
      %y = negf %v : tile<4xf32>
      yield %y : tile<4xf32>
    } else {
      yield %v : tile<4xf32>
    }
    continue %w : tile<4xf32>
  }
  print_tko "whole %f\n", %r : tile<4xf32> -> token
  return
}

// CHECK: %[[ROW:.*]] = muli %assume, %assume
// CHECK: %[[FIRST:.*]] = divi %[[ROW]], %{{.*}} signed rounding<negative_inf>
// CHECK: %[[END:.*]] = mini %assume, %[[FIRST]] signed
// CHECK: for %{{.*}} in (%cst_0_i32 to %[[END]], step
// CHECK-NOT: if
// CHECK: exp
// CHECK: for %{{.*}} in (%[[FIRST]] to %assume, step
// CHECK-NOT: if
// CHECK: negf
// CHECK: print_tko "split
// CHECK: for
// CHECK: if
// CHECK: print_tko "whole
