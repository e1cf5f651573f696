// RUN: tilec opt %s --passes split-loops
// Split off the iterations whose mask is true for every element into a loop without the mask.

entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %c = constant <i32: 64> : tile<64xi32>
  %lanes = iota : tile<64xi32>
  %bn = reshape %n : tile<i32> -> tile<1xi32>
  %wn = broadcast %bn : tile<1xi32> -> tile<64xi32>
  %pp = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pw = broadcast %pp : tile<1xptr<f32>> -> tile<64xptr<f32>>
  for %i in (%0 to %n, step %1) : tile<i32> {
    %bi = reshape %i : tile<i32> -> tile<1xi32>
    %wi = broadcast %bi : tile<1xi32> -> tile<64xi32>
    %s = muli %wi, %c : tile<64xi32>
    %o = addi %s, %lanes : tile<64xi32>
    %m = cmpi less_than %o, %wn, signed : tile<64xi32> -> tile<64xi1>
    %q = offset %pw, %o : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %a, %t = load_ptr_tko weak %q, %m : tile<64xptr<f32>>, tile<64xi1> -> tile<64xf32>, token
    print_tko "%f\n", %a : tile<64xf32> -> token
    continue
  }
  return
}

// CHECK: for %
// CHECK: [[ALL:%.*]] = constant <i1: true> : tile<64xi1>
// CHECK: load_ptr_tko weak %{{.*}}, [[ALL]]
// CHECK: tilec.split = "main"
// CHECK: for %
// CHECK: [[M:%.*]] = cmpi less_than
// CHECK: load_ptr_tko weak %{{.*}}, [[M]]
