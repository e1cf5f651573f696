// RUN: tilec opt %s --passes simplify
// Short integers are compared with a number before their extension, in the signedness of the extension, unless the number
// is outside of their range, another operation needs the extension, or constants cannot have their type (i4).

entry @k(%a: tile<i8>, %b: tile<i8>, %c: tile<i8>) {
  // CHECK: [[FIVE:%.*]] = constant <i8: 5>
  // CHECK: cmpi less_than %{{.*}}, [[FIVE]], signed : tile<i8>
  %five = constant <i32: 5> : tile<i32>
  %e0 = exti %a signed : tile<i8> -> tile<i32>
  %c0 = cmpi less_than %e0, %five, signed : tile<i32> -> tile<i1>
  // CHECK: cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<i8>
  %many = constant <i32: 200> : tile<i32>
  %e1 = exti %b unsigned : tile<i8> -> tile<i32>
  %c1 = cmpi less_than %e1, %many, signed : tile<i32> -> tile<i1>
  // CHECK: exti %{{.*}} signed : tile<i8> -> tile<i32>
  // CHECK: cmpi less_than %{{.*}}, %{{.*}}, unsigned : tile<i32>
  %e2 = exti %c signed : tile<i8> -> tile<i32>
  %c2 = cmpi less_than %e2, %five, unsigned : tile<i32> -> tile<i1>
  // CHECK: exti %{{.*}} unsigned : tile<i4> -> tile<i32>
  // CHECK: cmpi less_than %{{.*}}, %{{.*}}, signed : tile<i32>
  %n = trunci %a : tile<i8> -> tile<i4>
  %e3 = exti %n unsigned : tile<i4> -> tile<i32>
  %c3 = cmpi less_than %e3, %five, signed : tile<i32> -> tile<i1>
  print_tko "%d %d %d %d\n", %c0, %c1, %c2, %c3 : tile<i1>, tile<i1>, tile<i1>, tile<i1> -> token
  return
}
