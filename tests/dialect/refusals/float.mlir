// expected-error: operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got 'tile<4x8xi32>'
%0 = addf %n, %n : tile<4x8xi32>
// -----
// expected-error: operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got 'tile<4xtf32>'
%a = constant <tf32: 1.0> : tile<4xtf32> %0 = mulf %a, %a : tile<4xtf32>
// -----
// expected-error: use of value '%f' expects different type than prior uses: 'tile<4x8xf16>' vs 'tile<4x8xf32>'
%0 = addf %h, %f : tile<4x8xf16>
// -----
// expected-error: expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'approx'
%0 = addf %f, %f rounding<approx> : tile<4x8xf32>
// -----
// expected-error: flush_to_zero modifier only supported for f32 data type, but got: f16
%0 = subf %h, %h flush_to_zero : tile<4x8xf16>
// -----
// expected-error: approx modifier only supported for f32 data type, but got: f16
%0 = divf %h, %h rounding<approx> : tile<4x8xf16>
// -----
// expected-error: full modifier only supported for f32 data type, but got: f16
%0 = divf %h, %h rounding<full> : tile<4x8xf16>
// -----
// expected-error: flush_to_zero modifier only supported for f32 data type, but got: f16
%0 = maxf %h, %h flush_to_zero : tile<4x8xf16>
// -----
// expected-error: expected 'comparison_ordering' to be one of: {'unordered', 'ordered'}, got: '%f'
%0 = cmpf equal %f, %f : tile<4x8xf32> -> tile<4x8xi1>
// -----
// expected-error: failed to verify that all of {lhs, result} have same shape
%0 = cmpf equal ordered %f, %f : tile<4x8xf32> -> tile<8x4xi1>
