// expected-error: types must be equal width, but got 32 and 16 bits
%0 = bitcast %f : tile<4x8xf32> -> tile<4x8xf16>
// -----
// expected-error: types must be equal width, but got 32 and 19 bits
%0 = bitcast %n : tile<4x8xi32> -> tile<4x8xtf32>
// -----
// expected-error: operand #0 must be tile of i1 or i8
%0 = bitcast %p : tile<ptr<f32>> -> tile<i64>
// -----
// expected-error: extending to smaller or identical integer: tile<4x8xi32> to tile<4x8xi32>
%0 = exti %n signed : tile<4x8xi32> -> tile<4x8xi32>
// -----
// expected-error: truncating to larger or identical integer: tile<4x8xi32> to tile<4x8xi64>
%0 = trunci %n : tile<4x8xi32> -> tile<4x8xi64>
// -----
// expected-error: converting tiles of f32 and f32 is not supported: the types must differ
%0 = ftof %f : tile<4x8xf32> -> tile<4x8xf32>
// -----
// expected-error: rounding mode must be one of: nearest_even, zero for a conversion from f32 to f16, but got: positive_inf
%0 = ftof %f rounding<positive_inf> : tile<4x8xf32> -> tile<4x8xf16>
// -----
// expected-error: rounding mode must be one of: zero, positive_inf for a conversion from f32 to f8E8M0FNU, but got: nearest_even
%0 = ftof %f : tile<4x8xf32> -> tile<4x8xf8E8M0FNU>
// -----
// expected-error: expected rounding mode to be one of: 'nearest_int_to_zero', got: 'zero'
%0 = ftoi %f signed rounding<zero> : tile<4x8xf32> -> tile<4x8xi32>
// -----
// expected-error: conversion of integers to f8E8M0FNU is not supported
%0 = itof %n signed : tile<4x8xi32> -> tile<4x8xf8E8M0FNU>
// -----
// expected-error: operand #0 must be tile of i64 values, but got 'tile<i32>'
%0 = int_to_ptr %i : tile<i32> -> tile<ptr<f32>>
// -----
// expected-error: failed to verify that all of {source, result} have same shape: 'tile<ptr<f32>>' and 'tile<4xi64>'
%0 = ptr_to_int %p : tile<ptr<f32>> -> tile<4xi64>
// -----
// expected-error: result #0 must be tile of pointer values, but got 'tile<i64>'
%0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<i64>
