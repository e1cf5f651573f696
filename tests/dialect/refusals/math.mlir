// expected-error: approx modifier only supported for f32 data type, but got: f16
%0 = sqrt %h rounding<approx> : tile<4x8xf16>
// -----
// expected-error: expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', 'approx', got: 'full'
%0 = sqrt %f rounding<full> : tile<4x8xf32>
// -----
// expected-error: flush_to_zero modifier only supported for f32 data type, but got: f16
%0 = rsqrt %h flush_to_zero : tile<4x8xf16>
// -----
// expected-error: approx modifier only supported for f32 data type, but got: f16
%0 = exp %h rounding<approx> : tile<4x8xf16>
// -----
// expected-error: expected rounding mode to be one of: 'approx', 'full', got: 'zero'
%0 = tanh %f rounding<zero> : tile<4x8xf32>
// -----
// expected-error: flush_to_zero modifier only supported for f32 data type, but got: f16
%0 = exp2 %h flush_to_zero : tile<4x8xf16>
// -----
// expected-error: operand #1 must be tile of i1 or i8 or i16 or i32 values, but got 'tile<4x8xi64>'
%a = constant <i64: 1> : tile<4x8xi64> %0 = fpowi %f, %a : tile<4x8xf32>, tile<4x8xi64>
// -----
// expected-error: failed to verify that all of {source, exponent} have same shape
%0 = fpowi %f, %v : tile<4x8xf32>, tile<8xi32>
