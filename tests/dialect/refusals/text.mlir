// expected-error: unknown operation: addx
%0 = addx %n, %n : tile<4x8xi32>
// -----
// expected-error: use of undeclared SSA value name '%no'
%0 = absi %no : tile<4x8xi32>
// -----
// expected-error: redefinition of SSA value '%n'
%n = absi %n : tile<4x8xi32>
// -----
// expected-error: operation defines 1 results but was provided 2 to bind
%0, %1 = absi %n : tile<4x8xi32>
// -----
// expected-error: unknown type: tiles
%0 = absi %n : tiles<4x8xi32>
// -----
// expected-error: all dimensions must be powers of two, got [4, 6]
%0 = broadcast %n : tile<4x8xi32> -> tile<4x6xi32>
// -----
// expected-error: all dimensions must be positive constants, got [4, 0]
%0 = broadcast %n : tile<4x8xi32> -> tile<4x0xi32>
// -----
// expected-error: tile would exceed the maximum of 16777216 elements
%0 = broadcast %n : tile<4x8xi32> -> tile<8192x4096xi32>
// -----
// expected-error: expected ':', but got '->'
%0 = absi %n -> tile<4x8xi32>
// -----
%0 = absi %n :
// expected-error: expected a type, but got '}'
}
// -----
// expected-error: unexpected character '~'
%0 = absi ~ %n : tile<4x8xi32>
// -----
// expected-error: duplicate optimization_hints key: sm_100
%0, %1 = load_ptr_tko weak %p optimization_hints = <sm_100 = {latency = 3}, sm_100 = {latency = 4}> : tile<ptr<f32>> -> tile<f32>, token
// -----
// expected-error: expected dictionary attribute for optimization_hints entry `sm_100` got value=2 : i64
%0, %1 = load_ptr_tko weak %p optimization_hints = <sm_100 = 2> : tile<ptr<f32>> -> tile<f32>, token
