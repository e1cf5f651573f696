// RUN: tilec opt %s --passes roll-loops,remove-dead
// Roll a loop of two equal steps; keep one whose steps differ in a number, and one whose second step does not follow the first.

entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %a: tile<f32>, %b: tile<f32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %tiles = assume bounded<0, 1000>, %n : tile<i32>
  %x = for %i in (%zero to %tiles, step %one) : tile<i32> iter_values(%v = %a) -> (tile<f32>) {
    %j = muli %i, %two : tile<i32>
    %at0 = offset %p, %j : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l0, %t0 = load_ptr_tko weak %at0 : tile<ptr<f32>> -> tile<f32>, token
    %m0 = mulf %v, %b : tile<f32>
    %v0 = addf %m0, %l0 : tile<f32>
    %k = addi %j, %one : tile<i32>
    %at1 = offset %p, %k : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l1, %t1 = load_ptr_tko weak %at1 : tile<ptr<f32>> -> tile<f32>, token
    %m1 = mulf %v0, %b : tile<f32>
    %v1 = addf %m1, %l1 : tile<f32>
    continue %v1 : tile<f32>
  }
  print_tko "equal %f\n", %x : tile<f32> -> token
  %y = for %i in (%zero to %tiles, step %two) : tile<i32> iter_values(%v = %a) -> (tile<f32>) {
    %at0 = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l0, %t0 = load_ptr_tko weak %at0 : tile<ptr<f32>> -> tile<f32>, token
    %v0 = addf %v, %l0 : tile<f32>
    %k = addi %i, %two : tile<i32>
    %at1 = offset %p, %k : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l1, %t1 = load_ptr_tko weak %at1 : tile<ptr<f32>> -> tile<f32>, token
    %v1 = addf %v0, %l1 : tile<f32>
    continue %v1 : tile<f32>
  }
  print_tko "farther %f\n", %y : tile<f32> -> token
  %z = for %i in (%zero to %tiles, step %two) : tile<i32> iter_values(%v = %a) -> (tile<f32>) {
    %at0 = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l0, %t0 = load_ptr_tko weak %at0 : tile<ptr<f32>> -> tile<f32>, token
    %m0 = mulf %v, %l0 : tile<f32>
    %v0 = addf %m0, %v : tile<f32>
    %k = addi %i, %one : tile<i32>
    %at1 = offset %p, %k : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %l1, %t1 = load_ptr_tko weak %at1 : tile<ptr<f32>> -> tile<f32>, token
    %m1 = mulf %v0, %l1 : tile<f32>
    %v1 = addf %m1, %v : tile<f32>
    continue %v1 : tile<f32>
  }
  print_tko "apart %f\n", %z : tile<f32> -> token
  return
}

// CHECK: %[[COUNT:.*]] = muli %assume, %cst_2_i32
// CHECK: for %[[J:.*]] in (%cst_0_i32 to %[[COUNT]], step %cst_1_i32
// CHECK: offset %{{.*}}, %[[J]]
// CHECK: load_ptr_tko
// CHECK-NOT: load_ptr_tko
// CHECK: print_tko "equal
// CHECK: load_ptr_tko
// CHECK: load_ptr_tko
// CHECK: print_tko "farther
// CHECK: load_ptr_tko
// CHECK: load_ptr_tko
// CHECK: print_tko "apart
