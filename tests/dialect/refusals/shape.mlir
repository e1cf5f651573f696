// expected-error: inferred shape of elements literal ([2]) does not match type ([4])
%0 = constant <f32: [1.0, 2.0]> : tile<4xf32>
// -----
// expected-error: tensor literal is invalid; ranks are not consistent between elements
%0 = constant <f32: [[1.0, 2.0], [3.0]]> : tile<2x2xf32>
// -----
// expected-error: integer constant out of range for type
%0 = constant <i8: 256> : tile<4xi8>
// -----
// expected-error: integer constant out of range for type
%0 = constant <i8: -129> : tile<4xi8>
// -----
// expected-error: expected integer value
%0 = constant <i32: 1.5> : tile<4xi32>
// -----
// expected-error: unexpected decimal integer literal for a floating point value
%0 = constant <f32: 1> : tile<4xf32>
// -----
// expected-error: mismatch between the element type: 'f32' and the tile element type f16
%0 = constant <f32: 1.0> : tile<4xf16>
// -----
// expected-error: expect element type to be one of i1 or i8
%0 = constant <i4: 1> : tile<4xi4>
// -----
// expected-error: dense attribute cannot be empty
%0 = constant <f32: []> : tile<4xf32>
// -----
// expected-error: value must have the type of the result 'tile<4xf32>', but has 'tile<8xf32>'
%0 = "cuda_tile.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> !cuda_tile.tile<4xf32>
// -----
// expected-error: expects result type to be 1-d tile, but got 'tile<4x4xi32>'
%0 = iota : tile<4x4xi32>
// -----
// expected-error: the number of elements 512 exceeds the maximum value of element type i8
%0 = iota : tile<512xi8>
// -----
// expected-error: failed to verify that all of {source, result} have same rank: 'tile<8xi32>' and 'tile<4x8xi32>'
%0 = broadcast %v : tile<8xi32> -> tile<4x8xi32>
// -----
// expected-error: expects the shape of source tile to be compatible with that of the result tile: tile<4x8xi32> to tile<8x8xi32>
%0 = broadcast %n : tile<4x8xi32> -> tile<8x8xi32>
// -----
// expected-error: failed to verify that all of {source, result} have same element type: 'tile<4x8xi32>' and 'tile<4x8xi16>'
%0 = broadcast %n : tile<4x8xi32> -> tile<4x8xi16>
// -----
// expected-error: expected source tile and result tile to have the same number of elements: tile<4x8xi32> to tile<4x4xi32>
%0 = reshape %n : tile<4x8xi32> -> tile<4x4xi32>
// -----
// expected-error: expects at least rank 2, but got: 1
%0 = permute %v [0] : tile<8xi32> -> tile<8xi32>
// -----
// expected-error: expect permutation size to equal the rank of source (2), but got 3
%0 = permute %n [0, 1, 2] : tile<4x8xi32> -> tile<8x4xi32>
// -----
// expected-error: permutation must name each dimension once, but got [0, 0]
%0 = permute %n [0, 0] : tile<4x8xi32> -> tile<8x4xi32>
// -----
// expected-error: expects result shape to be [8, 4], but got 'tile<4x8xi32>'
%0 = permute %n [1, 0] : tile<4x8xi32> -> tile<4x8xi32>
// -----
// expected-error: expect dim to be [0, 2), but got: 2
%0 = cat %n, %n dim = 2 : tile<4x8xi32>, tile<4x8xi32> -> tile<8x8xi32>
// -----
// expected-error: invalid concat at position 1, expected: 16 but got: 8
%0 = cat %n, %n dim = 1 : tile<4x8xi32>, tile<4x8xi32> -> tile<4x8xi32>
// -----
// expected-error: expect same shape for lhs, rhs and result at position 0, but got: 4, 4 and 8
%0 = cat %n, %n dim = 1 : tile<4x8xi32>, tile<4x8xi32> -> tile<8x16xi32>
// -----
// expected-error: incorrect number of indices, expected 2, but found 1
%0 = extract %n[%i] : tile<4x8xi32> -> tile<2x8xi32>
// -----
// expected-error: dimension 0 of tile<4x8xi32> must be divisible by that of tile<8x8xi32>
%0 = extract %n[%i, %i] : tile<4x8xi32> -> tile<8x8xi32>
// -----
// expected-error: operand #1 must be 0D tile of i32 values, but got 'tile<i64>'
%0 = extract %n[%l, %l] : tile<4x8xi32> -> tile<2x8xi32>
// -----
// expected-error: failed to verify that all of {source, destination} have same element type
%0 = insert %n, %f[%i, %i] : tile<4x8xi32>, tile<4x8xf32>
// -----
// expected-error: failed to verify that all of {cond, val_if_true} have same shape
%a = constant <i1: true> : tile<8xi1> %0 = select %a, %n, %n : tile<8xi1>, tile<4x8xi32>
// -----
// expected-error: select of f4E2M1FN is not supported
%a = constant <f4E2M1FN: 1.0> : tile<4x8xf4E2M1FN> %0 = select %m, %a, %a : tile<4x8xi1>, tile<4x8xf4E2M1FN>
// -----
// expected-error: expects rank-1 tiles, but got 'tile<4x8xi32>'
%0 = pack %n : tile<4x8xi32> -> tile<4x32xi8>
// -----
// expected-error: expects 'tile<8xi32>' to fill whole bytes and as many as 'tile<16xi8>' has
%0 = pack %v : tile<8xi32> -> tile<16xi8>
// -----
// expected-error: failed to verify that all of {ptr, offset} have same shape: 'tile<ptr<f32>>' and 'tile<8xi32>'
%0 = offset %p, %v : tile<ptr<f32>>, tile<8xi32> -> tile<ptr<f32>>
// -----
// expected-error: failed to verify that all of {ptr, result} have same type: tile<ptr<f32>> and tile<ptr<f16>>
%0 = "cuda_tile.offset"(%p, %i) : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<ptr<f16>>
// -----
// expected-error: expects elements of other than 8 bits beside the bytes, but got 'tile<8xi8>'
%b = constant <i8: 1> : tile<8xi8> %0 = pack %b : tile<8xi8> -> tile<8xi8>
// -----
// expected-error: expected integer value
%0 = constant <i32: true> : tile<i32>
// -----
// expected-error: expected floating point value
%0 = constant <f32: true> : tile<f32>
// -----
// expected-error: integer constant out of range for type
%0 = constant <i1: 2> : tile<i1>
// -----
// expected-error: failed to verify that all of {source, result} have same element type: 'tile<4x8xi32>' and 'tile<32xi16>'
%0 = reshape %n : tile<4x8xi32> -> tile<32xi16>
// -----
// expected-error: failed to verify that all of {source, result} have same element type: 'tile<4x8xi32>' and 'tile<8x4xi16>'
%0 = permute %n [1, 0] : tile<4x8xi32> -> tile<8x4xi16>
// -----
// expected-error: failed to verify that all of {source, result} have same rank: 'tile<4x8xi32>' and 'tile<32xi32>'
%0 = permute %n [1, 0] : tile<4x8xi32> -> tile<32xi32>
// -----
// expected-error: permutation must name each dimension once, but got [0, 2]
%0 = permute %n [0, 2] : tile<4x8xi32> -> tile<4x8xi32>
// -----
// expected-error: permutation must name each dimension once, but got [-1, 0]
%0 = permute %n [-1, 0] : tile<4x8xi32> -> tile<4x8xi32>
// -----
// expected-error: failed to verify that all of {lhs, rhs, result} have same rank: 'tile<4x8xi32>' and 'tile<8xi32>' and 'tile<8x8xi32>'
%0 = cat %n, %v dim = 0 : tile<4x8xi32>, tile<8xi32> -> tile<8x8xi32>
// -----
// expected-error: failed to verify that all of {lhs, rhs, result} have same element type: 'tile<4x8xi32>' and 'tile<4x8xf32>' and 'tile<8x8xi32>'
%0 = cat %n, %f dim = 0 : tile<4x8xi32>, tile<4x8xf32> -> tile<8x8xi32>
// -----
// expected-error: expect dim to be [0, 2), but got: -1
%0 = cat %n, %n dim = -1 : tile<4x8xi32>, tile<4x8xi32> -> tile<8x8xi32>
// -----
// expected-error: failed to verify that all of {source, result} have same rank: 'tile<4x8xi32>' and 'tile<8xi32>'
%0 = extract %n[%i] : tile<4x8xi32> -> tile<8xi32>
// -----
// expected-error: failed to verify that all of {source, result} have same element type: 'tile<4x8xi32>' and 'tile<2x8xi16>'
%0 = extract %n[%i, %i] : tile<4x8xi32> -> tile<2x8xi16>
// -----
// expected-error: failed to verify that all of {source, destination} have same rank: 'tile<8xi32>' and 'tile<4x8xi32>'
%0 = insert %v, %n[%i, %i] : tile<8xi32>, tile<4x8xi32>
// -----
// expected-error: dimension 0 of tile<4x8xi32> must be divisible by that of tile<8x8xi32>
%a = constant <i32: 1> : tile<8x8xi32> %0 = insert %a, %n[%i, %i] : tile<8x8xi32>, tile<4x8xi32>
// -----
// expected-error: incorrect number of indices, expected 2, but found 1
%0 = insert %n, %n[%i] : tile<4x8xi32>, tile<4x8xi32>
// -----
// expected-error: operand #2 must be 0D tile of i32 values, but got 'tile<i64>'
%0 = insert %n, %n[%l, %l] : tile<4x8xi32>, tile<4x8xi32>
// -----
// expected-error: operand #2 must be 0D tile of i32 values, but got 'tile<8xi32>'
%0 = insert %n, %n[%v, %i] : tile<4x8xi32>, tile<4x8xi32>
// -----
// expected-error: failed to verify that all of {destination, result} have same type: tile<4x8xi32> and tile<8x4xi32>
%0 = "cuda_tile.insert"(%n, %n, %i, %i) : (!cuda_tile.tile<4x8xi32>, !cuda_tile.tile<4x8xi32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<8x4xi32>
// -----
// expected-error: failed to verify that all of {val_if_true, val_if_false} have same type: tile<4x8xi32> and tile<4x8xf32>
%0 = "cuda_tile.select"(%m, %n, %f) : (!cuda_tile.tile<4x8xi1>, !cuda_tile.tile<4x8xi32>, !cuda_tile.tile<4x8xf32>) -> !cuda_tile.tile<4x8xi32>
// -----
// expected-error: failed to verify that all of {source, result} have same rank: 'tile<i32>' and 'tile<4xi8>'
%0 = pack %i : tile<i32> -> tile<4xi8>
// -----
// expected-error: expects 'tile<4xi1>' to fill whole bytes and as many as 'tile<1xi8>' has
%a = constant <i1: true> : tile<4xi1> %0 = pack %a : tile<4xi1> -> tile<1xi8>
// -----
// expected-error: expects 'tile<8xi32>' to fill whole bytes and as many as 'tile<16xi8>' has
%a = constant <i8: 1> : tile<16xi8> %0 = unpack %a : tile<16xi8> -> tile<8xi32>
// -----
// expected-error: expects elements of other than 8 bits beside the bytes, but got 'tile<16xf8E5M2>'
%a = constant <i8: 1> : tile<16xi8> %0 = unpack %a : tile<16xi8> -> tile<16xf8E5M2>
// -----
// expected-error: expects rank-1 tiles, but got 'tile<4x2xi32>'
%a = constant <i8: 1> : tile<4x8xi8> %0 = unpack %a : tile<4x8xi8> -> tile<4x2xi32>
// -----
// expected-error: failed to verify that all of {source, result} have same rank: 'tile<16xi8>' and 'tile<2x2xi32>'
%a = constant <i8: 1> : tile<16xi8> %0 = unpack %a : tile<16xi8> -> tile<2x2xi32>
