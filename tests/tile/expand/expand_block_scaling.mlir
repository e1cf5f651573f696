// RUN: tilec opt %s --passes expand-block-scaling
// f16 has all products of f4E2M1FN and f8E4M3FN; a multiply of rank 3 is divided by another pass first.
// Powers of two are divided into windows of 64 exponents: an iteration multiplies with those of one window per operand.

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
  %g = constant <f8E4M3FN: 1.5> : tile<16x32xf8E4M3FN>
  %h = constant <f8E5M2: 1.5> : tile<32x8xf8E5M2>
  %m = constant <f8E8M0FNU: 0.5> : tile<16x1xf8E8M0FNU>
  %n = constant <f8E8M0FNU: 0.5> : tile<1x8xf8E8M0FNU>
  %z = tilex.mmaf_scaled %g, %h, %c, %m, %n : tile<16x32xf8E4M3FN>, tile<32x8xf8E5M2>, tile<16x8xf32>, tile<16x1xf8E8M0FNU>, tile<1x8xf8E8M0FNU>
  print_tko "%f", %z : tile<16x8xf32> -> token
  return
}

// CHECK: [[C:%.*]] = constant <f32: 1.000000e+00> : tile<16x8xf32>
// CHECK: [[S:%.*]] = ftof %{{.*}} : tile<16x2xf8E4M3FN> -> tile<16x2xf16>
// CHECK: [[A:%.*]] = ftof %{{.*}} : tile<16x32xf4E2M1FN> -> tile<16x32xf16>
// CHECK: broadcast %{{.*}} : tile<16x2x1xf16> -> tile<16x2x16xf16>
// CHECK: [[L:%.*]] = mulf [[A]], %{{.*}} : tile<16x32xf16>
// CHECK: broadcast %{{.*}} : tile<2x1x8xf16> -> tile<2x16x8xf16>
// CHECK: [[R:%.*]] = mulf %{{.*}} : tile<32x8xf16>
// CHECK: mmaf [[L]], [[R]], [[C]] : tile<16x32xf16>, tile<32x8xf16>, tile<16x8xf32>
// CHECK: mmaf_scaled %{{.*}} : tile<1x16x32xf8E5M2>
// CHECK: for %{{.*}} in {{.*}} iter_values([[SUM:%.*]] = [[C]],
// CHECK-NOT: select %{{.*}} : tile<16x32x
// CHECK: mulf %{{.*}} : tile<16x32xbf16>
// CHECK: mulf %{{.*}} : tile<32x8xbf16>
// An element that is infinite times a factor that is zero would be NaN.
// CHECK: select %{{.*}} : tile<32x8xi1>, tile<32x8xbf16>
// CHECK: [[P:%.*]] = mmaf %{{.*}} : tile<16x32xbf16>, tile<32x8xbf16>, tile<16x8xf32>
// CHECK: [[Q:%.*]] = mulf [[P]], %{{.*}} : tile<16x8xf32>
// CHECK: fma [[Q]], %{{.*}}, [[SUM]] : tile<16x8xf32>
