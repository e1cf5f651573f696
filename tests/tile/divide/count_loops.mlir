// RUN: tilec opt %s --passes count-loops,simplify-control,remove-dead
// Count the iterations of loops from the last tile to the first, and of those with two bounds. Keep a loop that ends by a loaded number.

entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<i32>>, %m: tile<i32>, %n: tile<i32>, %a: tile<f32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %size = constant <i32: 64> : tile<i32>
  %tiles = assume bounded<0, 1000>, %n : tile<i32>
  %last = subi %tiles, %one : tile<i32>
  %x, %end = loop iter_values(%j = %last, %v = %a) : tile<i32>, tile<f32> -> tile<f32>, tile<i32> {
    %ends = cmpi less_than %j, %zero, signed : tile<i32> -> tile<i1>
    if %ends {
      break %v, %j : tile<f32>, tile<i32>
    }
    print_tko "down %d\n", %j : tile<i32> -> token
    %w = negf %v : tile<f32>
    %next = subi %j, %one : tile<i32>
    continue %next, %w : tile<i32>, tile<f32>
  }
  print_tko "left %f %d\n", %x, %end : tile<f32>, tile<i32> -> token
  %first = loop iter_values(%f = %zero) : tile<i32> -> tile<i32> {
    %one_end = cmpi greater_than_or_equal %f, %m, signed : tile<i32> -> tile<i1>
    %other_end = cmpi greater_than_or_equal %f, %n, signed : tile<i32> -> tile<i1>
    %ends = ori %one_end, %other_end : tile<i1>
    if %ends {
      break %f : tile<i32>
    }
    print_tko "up %d\n", %f : tile<i32> -> token
    %next = addi %f, %size : tile<i32>
    continue %next : tile<i32>
  }
  loop iter_values(%j = %zero) : tile<i32> {
    %flag, %token = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %ends = cmpi greater_than_or_equal %j, %flag, signed : tile<i32> -> tile<i1>
    if %ends {
      break
    }
    print_tko "flag %d\n", %j : tile<i32> -> token
    %next = addi %j, %one : tile<i32>
    continue %next : tile<i32>
  }
  return
}

// CHECK: %[[LAST:.*]] = subi %assume, %cst_1_i32
// CHECK: for %[[I:.*]] in (%cst_0_i32 to %assume, step %cst_1_i32
// CHECK: %[[J:.*]] = subi %[[LAST]], %[[I]]
// CHECK: print_tko "down {{.*}}", %[[J]]
// CHECK: print_tko "left
// CHECK: %[[LEAST:.*]] = mini {{.*}} signed
// CHECK: for %[[F:.*]] in (%cst_0_i32 to %[[LEAST]], step %cst_64_i32
// CHECK: print_tko "up {{.*}}", %[[F]]
// CHECK: loop iter_values
