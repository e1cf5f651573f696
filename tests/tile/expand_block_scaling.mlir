// RUN: tilec opt %s --passes expand-block-scaling
// Each block along K is multiplied in f16 into zero, then scaled in f32; a multiply of rank 3 is divided by another pass first.

entry @k(%p: tile<ptr<f32>>) {
  %a = constant <f4E2M1FN: 1.5> : tile<16x32xf4E2M1FN>
  %b = constant <f4E2M1FN: 2.0> : tile<32x8xf4E2M1FN>
  %s = constant <f8E4M3FN: 0.5> : tile<16x2xf8E4M3FN>
  %t = constant <f8E4M3FN: 4.0> : tile<2x8xf8E4M3FN>
  %c = constant <f32: 1.0> : tile<16x8xf32>
  %x = mmaf_scaled %a, %b, %c, %s, %t : tile<16x32xf4E2M1FN>, tile<32x8xf4E2M1FN>, tile<16x8xf32>, tile<16x2xf8E4M3FN>, tile<2x8xf8E4M3FN>
  print_tko "%f", %x : tile<16x8xf32> -> token
  %d = constant <f8E5M2: 1.5> : tile<1x16x32xf8E5M2>
  %e = constant <f8E5M2: 1.5> : tile<1x32x8xf8E5M2>
  %u = constant <f8E8M0FNU: 0.5> : tile<1x16x1xf8E8M0FNU>
  %v = constant <f8E8M0FNU: 0.5> : tile<1x1x8xf8E8M0FNU>
  %f = constant <f32: 1.0> : tile<1x16x8xf32>
  %y = mmaf_scaled %d, %e, %f, %u, %v : tile<1x16x32xf8E5M2>, tile<1x32x8xf8E5M2>, tile<1x16x8xf32>, tile<1x16x1xf8E8M0FNU>, tile<1x1x8xf8E8M0FNU>
  print_tko "%f", %y : tile<1x16x8xf32> -> token
  return
}

// CHECK: [[C:%.*]] = constant <f32: 1.000000e+00> : tile<16x8xf32>
// CHECK: [[A:%.*]] = ftof %{{.*}} : tile<16x32xf4E2M1FN> -> tile<16x32xf16>
// CHECK: [[B:%.*]] = ftof %{{.*}} : tile<32x8xf4E2M1FN> -> tile<32x8xf16>
// CHECK: [[A0:%.*]] = extract [[A]]{{.*}} : tile<16x32xf16> -> tile<16x16xf16>
// CHECK: [[B0:%.*]] = extract [[B]]{{.*}} : tile<32x8xf16> -> tile<16x8xf16>
// CHECK: [[P0:%.*]] = mmaf [[A0]], [[B0]], %{{.*}} : tile<16x16xf16>, tile<16x8xf16>, tile<16x8xf32>
// CHECK: [[S0:%.*]] = broadcast %{{.*}} : tile<16x1xf32> -> tile<16x8xf32>
// CHECK: [[T0:%.*]] = broadcast %{{.*}} : tile<1x8xf32> -> tile<16x8xf32>
// CHECK: [[F0:%.*]] = mulf [[S0]], [[T0]] : tile<16x8xf32>
// CHECK: [[C1:%.*]] = fma [[P0]], [[F0]], [[C]] : tile<16x8xf32>
// CHECK: [[P1:%.*]] = mmaf
// CHECK: fma [[P1]], %{{.*}}, [[C1]] : tile<16x8xf32>
// CHECK: mmaf_scaled %{{.*}} : tile<1x16x32xf8E5M2>
