// expected-error: div_by: divisor must be a power of two up to 2^62, but got 3
%0 = assume div_by<3>, %n : tile<4x8xi32>
// -----
// expected-error: div_by: divisor must be a power of two up to 2^62, but got 0
%0 = assume div_by<0>, %n : tile<4x8xi32>
// -----
// expected-error: div_by: expects a tile of integers or pointers or a tensor_view, but got 'tile<4x8xf32>'
%0 = assume div_by<4>, %f : tile<4x8xf32>
// -----
// expected-error: div_by: 'every' and 'along' cannot be used with 'tile<i32>'
%0 = assume div_by<4, every 1 along 0>, %i : tile<i32>
// -----
// expected-error: div_by: 'along' must be in [0, 2), but got 2
%0 = assume div_by<4, every 1 along 2>, %n : tile<4x8xi32>
// -----
// expected-error: div_by: 'every' must be in [0, 8], but got 16
%0 = assume div_by<4, every 16 along 1>, %n : tile<4x8xi32>
// -----
// expected-error: same_elements: expects 2 values for 'tile<4x8xi32>', but got 1
%0 = assume same_elements<[4]>, %n : tile<4x8xi32>
// -----
// expected-error: same_elements: values must be in [0, 4], but got 8
%0 = assume same_elements<[8, 1]>, %n : tile<4x8xi32>
// -----
// expected-error: bounded: lower bound 5 is above upper bound 4
%0 = assume bounded<5, 4>, %n : tile<4x8xi32>
// -----
// expected-error: bounded: upper bound 2147483648 is outside of the range of i32
%0 = assume bounded<?, 2147483648>, %n : tile<4x8xi32>
// -----
// expected-error: bounded: expects a tile of integers, but got 'tile<ptr<f32>>'
%0 = assume bounded<0, ?>, %p : tile<ptr<f32>>
// -----
// expected-error: unknown assume predicate attribute: positive (expected 'div_by', 'same_elements', or 'bounded')
%0 = assume positive<1>, %n : tile<4x8xi32>
// -----
// expected-error: same_elements: expects a tile of integers or pointers, but got 'tile<4x8xf32>'
%0 = assume same_elements<[4, 8]>, %f : tile<4x8xf32>
// -----
// expected-error: integer constant out of range for 64 bits
%0 = assume div_by<9223372036854775808>, %i : tile<i32>
// -----
// expected-error: div_by: divisor must be a power of two up to 2^62, but got 9223372036854775807
%0 = assume div_by<9223372036854775807>, %i : tile<i32>
// -----
// expected-error: div_by: 'every' and 'along' cannot be used with 'tensor_view<64x16xf32, strides=[16,1]>'
%0 = assume div_by<4, every 1 along 0>, %tv : tensor_view<64x16xf32, strides=[16,1]>
// -----
// expected-error: div_by: 'every' must be in [0, 4], but got -1
%0 = assume div_by<4, every -1 along 0>, %n : tile<4x8xi32>
// -----
// expected-error: div_by: 'along' must be in [0, 2), but got -1
%0 = assume div_by<4, every 1 along -1>, %n : tile<4x8xi32>
// -----
// expected-error: expected 'along', but got '>'
%0 = assume div_by<4, every 1>, %n : tile<4x8xi32>
// -----
// expected-error: same_elements: values must be in [0, 4], but got -1
%0 = assume same_elements<[-1, 1]>, %n : tile<4x8xi32>
// -----
// expected-error: same_elements: expects a tile of integers or pointers, but got 'tensor_view<64x16xf32, strides=[16,1]>'
%0 = assume same_elements<[1, 1]>, %tv : tensor_view<64x16xf32, strides=[16,1]>
// -----
// expected-error: bounded: lower bound -2147483649 is outside of the range of i32
%0 = assume bounded<-2147483649, ?>, %n : tile<4x8xi32>
// -----
// expected-error: bounded: expects a tile of integers, but got 'tile<4x8xf32>'
%0 = assume bounded<0, ?>, %f : tile<4x8xf32>
// -----
// expected-error: div_by: expects a tile of integers or pointers or a tensor_view, but got 'token'
%0 = assume div_by<4>, %t : token
