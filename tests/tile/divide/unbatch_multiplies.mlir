// RUN: tilec opt %s --passes unbatch-multiplies
// A multiply of rank 3 becomes one of rank 2 for each number of the batch,
// which have one number as its parts; one of rank 2 is left alone.

entry @k(%p: tile<ptr<f32>>) {
  %a = constant <i8: 1> : tile<2x16x32xi8>
  %b = constant <i8: 2> : tile<2x32x8xi8>
  %c = constant <i32: 3> : tile<2x16x8xi32>
  %x = mmai %a, %b, %c signed unsigned : tile<2x16x32xi8>, tile<2x32x8xi8>, tile<2x16x8xi32>
  print_tko "%d", %x : tile<2x16x8xi32> -> token
  %d = constant <f16: 1.0> : tile<1x16x16xf16>
  %e = constant <f16: 1.0> : tile<1x16x16xf16>
  %y = mmaf %d, %d, %e : tile<1x16x16xf16>, tile<1x16x16xf16>, tile<1x16x16xf16>
  print_tko "%f", %y : tile<1x16x16xf16> -> token
  %f = constant <f16: 1.0> : tile<16x16xf16>
  %z = mmaf %f, %f, %f : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf16>
  print_tko "%f", %z : tile<16x16xf16> -> token
  return
}

// CHECK: [[A0:%.*]] = extract %{{.*}} : tile<2x16x32xi8> -> tile<1x16x32xi8>
// CHECK: [[L0:%.*]] = reshape [[A0]] : tile<1x16x32xi8> -> tile<16x32xi8>
// CHECK: [[X0:%.*]] = mmai [[L0]], %{{.*}}, %{{.*}} signed unsigned {tilec.part_of = 0 : i32} : tile<16x32xi8>,
// CHECK: [[X1:%.*]] = mmai %{{.*}}, %{{.*}}, %{{.*}} signed unsigned {tilec.part_of = 0 : i32} : tile<16x32xi8>,
// CHECK: [[R0:%.*]] = reshape [[X0]] : tile<16x8xi32> -> tile<1x16x8xi32>
// CHECK: [[R1:%.*]] = reshape [[X1]] : tile<16x8xi32> -> tile<1x16x8xi32>
// CHECK: cat [[R0]], [[R1]] dim = 0 : tile<1x16x8xi32>, tile<1x16x8xi32> -> tile<2x16x8xi32>
// CHECK-NOT: extract
// CHECK: mmaf %{{.*}} : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf16>
// CHECK: reshape %{{.*}} : tile<16x16xf16> -> tile<1x16x16xf16>
// CHECK-NOT: extract
// CHECK-NOT: reshape %{{.*}} : tile<16x16xf16>
// CHECK: mmaf [[F:%.*]], [[F]], [[F]] :
