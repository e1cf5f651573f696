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
// -----
// expected-error: failed to verify that all of {acc, result} have same type: tile<8x8xf16> and tile<8x8xf32>
%a = constant <f16: 1.0> : tile<8x8xf16> %0 = "cuda_tile.mmaf"(%a, %a, %a) : (!cuda_tile.tile<8x8xf16>, !cuda_tile.tile<8x8xf16>, !cuda_tile.tile<8x8xf16>) -> !cuda_tile.tile<8x8xf32>
// -----
// expected-error: expects an accumulator of f64 for inputs of f64, but got f32
%a = constant <f64: 1.0> : tile<8x8xf64> %b = constant <f32: 1.0> : tile<8x8xf32> %0 = mmaf %a, %a, %b : tile<8x8xf64>, tile<8x8xf64>, tile<8x8xf32>
// -----
// expected-error: expects dim 0 of lhs (8) to equal dim 0 of acc (4)
%a = constant <i8: 1> : tile<8x8xi8> %b = constant <i32: 1> : tile<4x8xi32> %0 = mmai %a, %a, %b signed signed : tile<8x8xi8>, tile<8x8xi8>, tile<4x8xi32>
// -----
// expected-error: expects dim 1 of lhs (4) to equal dim 0 of rhs (8)
%a = constant <i8: 1> : tile<8x4xi8> %b = constant <i32: 1> : tile<8x4xi32> %0 = mmai %a, %a, %b signed signed : tile<8x4xi8>, tile<8x4xi8>, tile<8x4xi32>
// -----
// expected-error: expects tiles of rank 2 or 3, but got tile<8xi8>
%a = constant <i8: 1> : tile<8xi8> %0 = mmai %a, %a, %v signed signed : tile<8xi8>, tile<8xi8>, tile<8xi32>
// -----
// expected-error: failed to verify that all of {lhs, rhs, acc} have same rank: 'tile<8x8xi8>' and 'tile<8x8xi8>' and 'tile<1x8x8xi32>'
%a = constant <i8: 1> : tile<8x8xi8> %b = constant <i32: 1> : tile<1x8x8xi32> %0 = mmai %a, %a, %b signed signed : tile<8x8xi8>, tile<8x8xi8>, tile<1x8x8xi32>
// -----
// expected-error: expects equal batch dimensions, but got tile<2x8x8xi8>, tile<2x8x8xi8> and tile<1x8x8xi32>
%a = constant <i8: 1> : tile<2x8x8xi8> %b = constant <i32: 1> : tile<1x8x8xi32> %0 = mmai %a, %a, %b signed signed : tile<2x8x8xi8>, tile<2x8x8xi8>, tile<1x8x8xi32>
// -----
// expected-error: expected signedness to be one of: {'unsigned', 'signed'}, got: ':'
%a = constant <i8: 1> : tile<8x8xi8> %b = constant <i32: 1> : tile<8x8xi32> %0 = mmai %a, %a, %b signed : tile<8x8xi8>, tile<8x8xi8>, tile<8x8xi32>
// -----
// expected-error: failed to verify that all of {lhs, rhs} have same element type: 'tile<32x32xf8E5M2>' and 'tile<32x32xf8E4M3FN>'
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %b = constant <f8E4M3FN: 1.0> : tile<32x32xf8E4M3FN> %x = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<1x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %b, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E4M3FN>, tile<32x32xf32>, tile<32x1xf8E8M0FNU>, tile<1x32xf8E8M0FNU>
// -----
// expected-error: failed to verify that all of {lhs_scale, rhs_scale} have same element type: 'tile<32x1xf8E8M0FNU>' and 'tile<1x32xf8E4M3FN>'
%a = constant <f4E2M1FN: 1.0> : tile<32x32xf4E2M1FN> %x = constant <f8E8M0FNU: 1.0> : tile<32x1xf8E8M0FNU> %y = constant <f8E4M3FN: 1.0> : tile<1x32xf8E4M3FN> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf4E2M1FN>, tile<32x32xf4E2M1FN>, tile<32x32xf32>, tile<32x1xf8E8M0FNU>, tile<1x32xf8E4M3FN>
// -----
// expected-error: expects 16 elements of lhs to share a scale, but got tile<32x32xf4E2M1FN> with tile<32x1xf8E4M3FN>
%a = constant <f4E2M1FN: 1.0> : tile<32x32xf4E2M1FN> %x = constant <f8E4M3FN: 1.0> : tile<32x1xf8E4M3FN> %y = constant <f8E4M3FN: 1.0> : tile<1x32xf8E4M3FN> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf4E2M1FN>, tile<32x32xf4E2M1FN>, tile<32x32xf32>, tile<32x1xf8E4M3FN>, tile<1x32xf8E4M3FN>
// -----
// expected-error: expects 16 or 32 elements of lhs to share a scale, but got tile<32x32xf4E2M1FN> with tile<32x4xf8E8M0FNU>
%a = constant <f4E2M1FN: 1.0> : tile<32x32xf4E2M1FN> %x = constant <f8E8M0FNU: 1.0> : tile<32x4xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<4x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf4E2M1FN>, tile<32x32xf4E2M1FN>, tile<32x32xf32>, tile<32x4xf8E8M0FNU>, tile<4x32xf8E8M0FNU>
// -----
// expected-error: failed to verify that all of {lhs, rhs, acc, lhs_scale, rhs_scale} have same rank: 'tile<32x32xf8E5M2>' and 'tile<32x32xf8E5M2>' and 'tile<32x32xf32>' and 'tile<1x32x1xf8E8M0FNU>' and 'tile<1x1x32xf8E8M0FNU>'
%a = constant <f8E5M2: 1.0> : tile<32x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<1x32x1xf8E8M0FNU> %y = constant <f8E8M0FNU: 1.0> : tile<1x1x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %a, %z, %x, %y : tile<32x32xf8E5M2>, tile<32x32xf8E5M2>, tile<32x32xf32>, tile<1x32x1xf8E8M0FNU>, tile<1x1x32xf8E8M0FNU>
// -----
// expected-error: expects 32 elements of lhs to share a scale, but got tile<32x16xf8E5M2> with tile<32x32xf8E8M0FNU>
%a = constant <f8E5M2: 1.0> : tile<32x16xf8E5M2> %b = constant <f8E5M2: 1.0> : tile<16x32xf8E5M2> %x = constant <f8E8M0FNU: 1.0> : tile<32x32xf8E8M0FNU> %z = constant <f32: 0.0> : tile<32x32xf32> %0 = mmaf_scaled %a, %b, %z, %x, %x : tile<32x16xf8E5M2>, tile<16x32xf8E5M2>, tile<32x32xf32>, tile<32x32xf8E8M0FNU>, tile<32x32xf8E8M0FNU>
