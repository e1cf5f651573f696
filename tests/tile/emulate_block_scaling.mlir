// RUN: tilec opt %s --passes emulate-block-scaling
// A block-scaled multiply becomes a multiply of scaled operands of bf16; one of rank 3 is divided by another pass first.

entry @k(%p: tile<ptr<f32>>) {
  %a = constant <f4E2M1FN: 1.5> : tile<16x64xf4E2M1FN>
  %b = constant <f4E2M1FN: 2.0> : tile<64x8xf4E2M1FN>
  %s = constant <f8E4M3FN: 0.5> : tile<16x4xf8E4M3FN>
  %t = constant <f8E4M3FN: 4.0> : tile<4x8xf8E4M3FN>
  %c = constant <f32: 1.0> : tile<16x8xf32>
  %x = mmaf_scaled %a, %b, %c, %s, %t : tile<16x64xf4E2M1FN>, tile<64x8xf4E2M1FN>, tile<16x8xf32>, tile<16x4xf8E4M3FN>, tile<4x8xf8E4M3FN>
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

// CHECK: [[A:%.*]] = ftof %{{.*}} : tile<16x64xf4E2M1FN> -> tile<16x64xf32>
// CHECK: [[S:%.*]] = reshape %{{.*}} : tile<16x4x16xf32> -> tile<16x64xf32>
// CHECK: [[L:%.*]] = mulf [[A]], [[S]] : tile<16x64xf32>
// CHECK: [[L2:%.*]] = ftof [[L]] : tile<16x64xf32> -> tile<16x64xbf16>
// CHECK: broadcast %{{.*}} : tile<4x1x8xf32> -> tile<4x16x8xf32>
// CHECK: [[R2:%.*]] = ftof %{{.*}} : tile<64x8xf32> -> tile<64x8xbf16>
// CHECK: mmaf [[L2]], [[R2]], %{{.*}} : tile<16x64xbf16>, tile<64x8xbf16>, tile<16x8xf32>
// CHECK: mmaf_scaled %{{.*}} : tile<1x16x32xf8E5M2>
