// expected-error: operand #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got 'tile<4x8xf32>'
%0 = "cuda_tile.addi"(%f, %n) : (!cuda_tile.tile<4x8xf32>, !cuda_tile.tile<4x8xi32>) -> !cuda_tile.tile<4x8xi32>
// -----
// expected-error: failed to verify that all of {lhs, rhs} have same type: tile<4x8xi32> and tile<8xi32>
%0 = "cuda_tile.addi"(%n, %v) : (!cuda_tile.tile<4x8xi32>, !cuda_tile.tile<8xi32>) -> !cuda_tile.tile<4x8xi32>
// -----
// expected-error: use of value '%v' expects different type than prior uses: 'tile<4x8xi32>' vs 'tile<8xi32>'
%0 = subi %n, %v : tile<4x8xi32>
// -----
// expected-error: expected overflow to be one of: 'none', 'no_signed_wrap', 'no_unsigned_wrap', 'no_wrap', got: 'wrap'
%0 = muli %n, %n overflow<wrap> : tile<4x8xi32>
// -----
// expected-error: overflow must be one of: none, no_signed_wrap, no_wrap, but got: no_unsigned_wrap
%0 = negi %n overflow<no_unsigned_wrap> : tile<4x8xi32>
// -----
// expected-error: rounding mode negative_inf is not allowed with unsigned
%0 = divi %n, %n unsigned rounding<negative_inf> : tile<4x8xi32>
// -----
// expected-error: expected rounding mode to be one of: 'zero', 'negative_inf', 'positive_inf', got: 'nearest_even'
%0 = divi %n, %n signed rounding<nearest_even> : tile<4x8xi32>
// -----
// expected-error: expected signedness to be one of: {'unsigned', 'signed'}, got: ':'
%0 = remi %n, %n : tile<4x8xi32>
// -----
// expected-error: requires attribute 'signedness'
%0 = "cuda_tile.maxi"(%n, %n) : (!cuda_tile.tile<4x8xi32>, !cuda_tile.tile<4x8xi32>) -> !cuda_tile.tile<4x8xi32>
// -----
// expected-error: attribute 'signedness' must be one of: unsigned, signed, but got: both
%0 = "cuda_tile.maxi"(%n, %n) {signedness = "both"} : (!cuda_tile.tile<4x8xi32>, !cuda_tile.tile<4x8xi32>) -> !cuda_tile.tile<4x8xi32>
// -----
// expected-error: failed to verify that all of {lhs, result} have same shape: 'tile<4x8xi32>' and 'tile<4xi1>'
%0 = cmpi equal %n, %n, signed : tile<4x8xi32> -> tile<4xi1>
// -----
// expected-error: result #0 must be tile of i1 values, but got 'tile<4x8xi8>'
%0 = cmpi equal %n, %n, signed : tile<4x8xi32> -> tile<4x8xi8>
// -----
// expected-error: expected 'comparison_predicate' to be one of: {'equal', 'not_equal',
%0 = cmpi above %n, %n, signed : tile<4x8xi32> -> tile<4x8xi1>
// -----
// expected-error: expected 2 operands, but got 1
%0 = "cuda_tile.andi"(%n) : (!cuda_tile.tile<4x8xi32>) -> !cuda_tile.tile<4x8xi32>
