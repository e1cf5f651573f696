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
// -----
// expected-error: expected as many types as values (2), but got 1
%0 = if %c -> (tile<i32>, tile<i32>) { yield %i, %i : tile<i32> } else { yield %i, %i : tile<i32>, tile<i32> }
// -----
// expected-error: '2.5' is not a value of type i32
%0 = reduce %f dim=0 identities=[2.5 : i32] : tile<4x8xf32> -> tile<8xf32> (%x: tile<f32>, %a: tile<f32>) { yield %x : tile<f32> }
// -----
// expected-error: duplicate key 'a' in dictionary attribute
%0 = absi %n {a = 1, a = 2} : tile<4x8xi32>
// -----
// expected-error: expected a string, but got '%c'
assert %c, %c : tile<i1>
// -----
// expected-error: expected true or false, but got '1'
%0, %1 = load_view_tko weak %pv[%i, %i] inbounds = [1] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expected SSA operand, but got ':'
%0 = addi %n, : tile<4x8xi32>
// -----
// expected-error: undefined alias: #there
%0 = absi %n : tile<4x8xi32> loc(#there)
// -----
// expected-error: expected location, but got 'nowhere'
%0 = absi %n : tile<4x8xi32> loc(nowhere)
// -----
// expected-error: expected integer value
%0 = constant <i32: x> : tile<i32>
// -----
// expected-error: expected a tile type, but got 'f32'
%0 = constant <f32: 1.0> : f32
// -----
// expected-error: expected 'tensor_view' type, but got 'tile<i32>'
%0 = make_tensor_view %p, shape = [8], strides = [1] : tile<i32>
// -----
// expected-error: unknown operation: adddi; did you mean 'addi'?
%0 = adddi %n, %n : tile<4x8xi32>
// -----
// expected-error: unknown operation: cuda_tile.reshap; did you mean 'reshape'?
%0 = cuda_tile.reshap %n : tile<4x8xi32> -> tile<32xi32>
// -----
// expected-error: unknown operation: tile_gpu.yield
tile_gpu.yield
// -----
// expected-error: testing$func exists only in NVIDIA's own test builds, and no released tool takes it
testing$func @f() { }
// -----
// expected-error: preview$func is of NVIDIA's preview, of which only preview$call is known
preview$func @f() { }
// -----
// expected-error: expected static shape: the dimensions of a tile are numbers, but got '?'
%0 = broadcast %n : tile<4x8xi32> -> tile<?x8xi32>
// -----
// expected-error: use of value '%l' expects different type than prior uses: 'tile<i32>' vs 'tile<i64>'
%0 = cmpi equal %i, %l, signed : tile<i32> -> tile<i1>
// -----
// expected-error: expected the types of operands and results, but got 'tile<i32>'
%0 = preview$call @f(%i) : tile<i32>
// -----
// expected-error: expected 1 operand types, but got 0
%0 = preview$call @f(%i) : () -> !cuda_tile.tile<i32>
// -----
// expected-error: expected a number, but got 'x'
%0 = absi %n {a = -x} : tile<4x8xi32>
// -----
// expected-error: expected a number, but got '}'
%0 = absi %n {a = -} : tile<4x8xi32>
// -----
// expected-error: '2' is not a value of type tile<i32>
%0 = absi %n {a.b = 2 : tile<i32>} : tile<4x8xi32>
// -----
// expected-error: expected as many types as operands of 'mask' (0), but got 1
%0, %1 = load_ptr_tko weak %p : tile<ptr<f32>>, tile<i1> -> tile<f32>, token
// -----
// expected-error: unexpected token after element type in 0-d tensor_view
%0 = make_tensor_view %p, shape = [], strides = [] : tensor_view<f32 4>
// -----
// expected-error: tensor_view element must be a number type, but got 'i4'
%0 = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xi4, strides=[1]>
// -----
// expected-error: operand #0 must be a partition_view, strided_view or gather_scatter_view, but got 'tensor_view<64x16xf32, strides=[16,1]>'
%0, %1 = load_view_tko weak %tv[%i, %i] : tensor_view<64x16xf32, strides=[16,1]>, tile<i32> -> tile<4x8xf32>, token
