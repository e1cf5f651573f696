// expected-error: failed to verify that all of {lhs, rhs} have same element type: 'tile<4x8xf32>' and 'tile<8x4xf16>'
%b = constant <f16: 1.0> : tile<8x4xf16> %a = constant <f32: 1.0> : tile<4x4xf32> %0 = mmaf %f, %b, %a : tile<4x8xf32>, tile<8x4xf16>, tile<4x4xf32>
// -----
// expected-error: expects an accumulator of f32 for inputs of bf16, but got f16
%b = constant <bf16: 1.0> : tile<8x8xbf16> %a = constant <f16: 1.0> : tile<8x8xf16> %0 = mmaf %b, %b, %a : tile<8x8xbf16>, tile<8x8xbf16>, tile<8x8xf16>
// -----
// expected-error: expects dim 1 of lhs (8) to equal dim 0 of rhs (4)
%a = constant <f32: 1.0> : tile<4x4xf32> %0 = mmaf %f, %f, %a : tile<4x8xf32>, tile<4x8xf32>, tile<4x4xf32>
// -----
// expected-error: expects dim 0 of lhs (4) to equal dim 0 of acc (8)
%b = constant <f32: 1.0> : tile<8x4xf32> %0 = mmaf %f, %b, %b : tile<4x8xf32>, tile<8x4xf32>, tile<8x4xf32>
// -----
// expected-error: expects dim 1 of rhs (4) to equal dim 1 of acc (8)
%b = constant <f32: 1.0> : tile<8x4xf32> %0 = mmaf %f, %b, %f : tile<4x8xf32>, tile<8x4xf32>, tile<4x8xf32>
// -----
// expected-error: failed to verify that all of {lhs, rhs, acc} have same rank
%b = constant <f32: 1.0> : tile<1x8x4xf32> %0 = mmaf %f, %b, %f : tile<4x8xf32>, tile<1x8x4xf32>, tile<4x8xf32>
// -----
// expected-error: expects tiles of rank 2 or 3, but got tile<4xf32>
%b = constant <f32: 1.0> : tile<4xf32> %0 = mmaf %b, %b, %b : tile<4xf32>, tile<4xf32>, tile<4xf32>
// -----
// expected-error: expects equal batch dimensions, but got tile<2x4x4xf32>, tile<1x4x4xf32> and tile<2x4x4xf32>
%a = constant <f32: 1.0> : tile<2x4x4xf32> %b = constant <f32: 1.0> : tile<1x4x4xf32> %0 = mmaf %a, %b, %a : tile<2x4x4xf32>, tile<1x4x4xf32>, tile<2x4x4xf32>
// -----
// expected-error: operand #0 must be tile of i8 values, but got 'tile<4x8xi32>'
%0 = mmai %n, %n, %n signed signed : tile<4x8xi32>, tile<4x8xi32>, tile<4x8xi32>
// -----
// expected-error: scales of f8E4M3FN do not go with inputs of f8E5M2
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E4M3FN: 1.0> : tile<32x1xf8E4M3FN> %y = constant <f8E4M3FN: 1.0> : tile<1x32xf8E4M3FN> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<32x1xf8E4M3FN>, tile<1x32xf8E4M3FN>
// -----
// expected-error: expects 32 elements of lhs to share a scale, but got tile<32x32xf8E5M2> with tile<32x2xf8E8M0FNU>
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<32x2xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<2x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<32x2xf8E8M0FNU>, tile<2x32xf8E8M0FNU>
// -----
// expected-error: expects rhs_scale to end in 1x32 for tile<32x32xf8E5M2>, but got tile<1x16xf8E8M0FNU>
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<1x16xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<32x1xf8E8M0FNU>, tile<1x16xf8E8M0FNU>
// -----
// expected-error: expects lhs_scale to have the rows of lhs, but got tile<16x1xf8E8M0FNU> for tile<32x32xf8E5M2>
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<16x1xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<1x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<16x1xf8E8M0FNU>, tile<1x32xf8E8M0FNU>
// -----
// expected-error: expects dim 1 of lhs (16) to equal dim 0 of rhs (32)
%a = constant <f8E5M2: 1.0> : tile<32x16xf8E5M2> %b = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %b, %z, %x, %x : tile<32x16xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<32x1xf8E8M0FNU>, tile<32x1xf8E8M0FNU>
