// expected-error: expects a pointer to f16, the element of the view, but got 'tile<ptr<f32>>'
%0 = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf16, strides=[1]>
// -----
// expected-error: input shape dimension 0 does not match tensor_view type (expected 8, got 16)
%0 = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<8xf32, strides=[1]>
// -----
// expected-error: input stride dimension 0 does not match tensor_view type (expected 1, got dynamic)
%0 = make_tensor_view %p, shape = [8], strides = [%i] : tile<i32> -> tensor_view<8xf32, strides=[1]>
// -----
// expected-error: expected shape declaration to contain 1 elements due to tensor_view type, but 2 were provided
%0 = make_tensor_view %p, shape = [8, 8], strides = [1] : tensor_view<8xf32, strides=[1]>
// -----
// expected-error: expected either integer or SSA value
%0 = make_tensor_view %p, shape = [x], strides = [1] : tensor_view<8xf32, strides=[1]>
// -----
// expected-error: expected 1 dynamic shape operands for 'tensor_view<?xf32, strides=[1]>', got 0
%0 = "cuda_tile.make_tensor_view"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<?xf32, strides=[1]>
// -----
// expected-error: tensor_view must preserve ptr_attr from base pointer (None)
%0 = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<unicast>>
// -----
// expected-error: expects an operand of type 'tensor_view<64x16xf32, strides=[1,64]>', the tensor_view inside the result
%0 = make_partition_view %tv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[1,64]>>
// -----
// expected-error: expects 2 results for 'tensor_view<64x16xf32, strides=[16,1]>', but got 1
%0 = get_tensor_shape %tv : tensor_view<64x16xf32, strides=[16,1]> -> tile<i64>
// -----
// expected-error: expected 2 index operands (based on the view), but got 1
%0, %1 = load_view_tko weak %pv[%i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expects a tile of type 'tile<4x8xf32>', as the view has, but got 'tile<8x4xf32>'
%0, %1 = load_view_tko weak %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<8x4xf32>, token
// -----
// expected-error: expects index #0 to be a 0-d tile, but got 'tile<8xi32>'
%0, %1 = load_view_tko weak %pv[%v, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<8xi32>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expects indices of one type, but got (tile<i32>, tile<i64>)
%0, %1 = load_view_tko weak %pv[%i, %l] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32>, tile<i64> -> tile<4x8xf32>, token
// -----
// expected-error: index types must be specified when indices are present
%0, %1 = load_view_tko weak %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> -> tile<4x8xf32>, token
// -----
// expected-error: expected 2 index types, got 3
%0, %1 = load_view_tko weak %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32>, tile<i32>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: operation specifies weak memory ordering semantics, but then provides "sys" scope, expected no memory scope.
%0, %1 = load_view_tko weak sys %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: memory scope is required for acquire load
%0, %1 = load_view_tko acquire %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expect one of: weak, relaxed, or release, but got: acq_rel
%0 = store_view_tko acq_rel sys %f, %pv[%i, %i] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expects one inbounds flag an index (2), but got 1
%0, %1 = load_view_tko weak %pv[%i, %i] inbounds = [true] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expects index #0, the sparse one, to be a 1-d tile of 4 elements, but got 'tile<8xi32>'
%g = make_gather_scatter_view %tv : gather_scatter_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0> %0, %1 = load_view_tko weak %g[%v, %i] : gather_scatter_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: multicast ptr_attr is not allowed
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %0, %1 = load_view_tko weak %y[%i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: f4E2M1FN elements need exactly one static unit stride, got 2 in 'tensor_view<8x8xf4E2M1FN, strides=[1,1]>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f4E2M1FN>> %x = make_tensor_view %q, shape = [8, 8], strides = [1, 1] : tensor_view<8x8xf4E2M1FN, strides=[1,1]> %y = make_partition_view %x : partition_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[1,1]>> %0, %1 = load_view_tko weak %y[%i, %i] : partition_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[1,1]>>, tile<i32> -> tile<8x8xf4E2M1FN>, token
// -----
// expected-error: expects all dynamic shape and stride operands to have one type
%0 = "cuda_tile.make_tensor_view"(%p, %i, %l) {operandSegmentSizes = array<i32: 1, 1, 1>} : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i64>) -> !cuda_tile.tensor_view<?xf32, strides=[?]>
// -----
// expected-error: sparse_dim 1 must not be the dimension that packs f4E2M1FN elements
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f4E2M1FN>> %x = make_tensor_view %q, shape = [8, 8], strides = [8, 1] : tensor_view<8x8xf4E2M1FN, strides=[8,1]> %y = make_gather_scatter_view %x : gather_scatter_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[8,1]>, sparse_dim=1> %0, %1 = load_view_tko weak %y[%i, %v] : gather_scatter_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[8,1]>, sparse_dim=1>, tile<i32>, tile<8xi32> -> tile<8x8xf4E2M1FN>, token
// -----
// expected-error: use of value '%l' expects different type than prior uses: 'tile<i32>' vs 'tile<i64>'
%0 = make_tensor_view %p, shape = [%l], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
// -----
// expected-error: use of value '%p' expects different type than prior uses: 'tile<ptr<f32, <none>>>' vs 'tile<ptr<f32>>'
%0 = make_tensor_view %p, shape = [8], strides = [1] : tile<ptr<f32, <none>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<none>>
// -----
// expected-error: expected the type of the dynamic shape and stride operands before '->'
%0 = make_tensor_view %p, shape = [%i], strides = [1] : tile<ptr<f32>> -> tensor_view<?xf32, strides=[1]>
// -----
// expected-error: expected at most two types before '->', but got 3
%0 = make_tensor_view %p, shape = [%i], strides = [1] : tile<ptr<f32>>, tile<i32>, tile<i32> -> tensor_view<?xf32, strides=[1]>
// -----
// expected-error: expects an operand of type 'tensor_view<64x16xf32, strides=[1,64]>', the tensor_view inside the result, but got 'tensor_view<64x16xf32, strides=[16,1]>'
%0 = make_strided_view %tv : strided_view<tile=(4x8), traversal_strides=[1,1], tensor_view<64x16xf32, strides=[1,64]>>
// -----
// expected-error: expects an operand of type 'tensor_view<64x16xf32, strides=[1,64]>', the tensor_view inside the result, but got 'tensor_view<64x16xf32, strides=[16,1]>'
%0 = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[1,64]>, sparse_dim=0>
// -----
// expected-error: expects 2 results for 'partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>', but got 1
%0 = get_index_space_shape %pv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>> -> tile<i64>
// -----
// expected-error: expected 0 dynamic shape operands for 'tensor_view<8xf32, strides=[?]>', got 1
%0 = "cuda_tile.make_tensor_view"(%p, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> !cuda_tile.tensor_view<8xf32, strides=[?]>
// -----
// expected-error: expects a tile of type 'tile<4x8xf32>', as the view has, but got 'tile<f32>'
%0 = store_view_tko weak %s, %pv[%i, %i] : tile<f32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expected 2 index operands (based on the view), but got 1
%0 = store_view_tko weak %f, %pv[%i] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expects index #0 to be a 0-d tile, but got 'tile<8xi32>'
%0 = store_view_tko weak %f, %pv[%v, %i] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<8xi32>, tile<i32> -> token
// -----
// expected-error: expects indices of one type, but got (tile<i32>, tile<i64>)
%0 = store_view_tko weak %f, %pv[%i, %l] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32>, tile<i64> -> token
// -----
// expected-error: expects one inbounds flag an index (2), but got 1
%0 = store_view_tko weak %f, %pv[%i, %i] inbounds = [true] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: memory scope is required for release store
%0 = store_view_tko release %f, %pv[%i, %i] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: expect one of: weak, relaxed, or release, but got: acquire
%0 = store_view_tko acquire sys %f, %pv[%i, %i] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> token
// -----
// expected-error: multicast ptr_attr is not allowed
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0 = store_view_tko weak %b, %y[%i] : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> token
// -----
// expected-error: expects index #0, the sparse one, to be a 1-d tile of 8 elements, but got 'tile<i32>'
%g = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0> %0, %1 = load_view_tko weak %g[%i, %i] : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>, tile<i32>, tile<i32> -> tile<8x8xf32>, token
// -----
// expected-error: expects index #1 to be a 0-d tile, but got 'tile<8xi32>'
%g = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0> %0, %1 = load_view_tko weak %g[%v, %v] : gather_scatter_view<tile=(8x8), tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=0>, tile<8xi32>, tile<8xi32> -> tile<8x8xf32>, token
// -----
// expected-error: operand #2 must be tile of i1 or i8 or i16 or i32 or i64 values, but got 'tile<f32>'
%0, %1 = load_view_tko weak %pv[%i, %s] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32>, tile<f32> -> tile<4x8xf32>, token
// -----
// expected-error: f4E2M1FN elements need exactly one static unit stride, got 0 in 'tensor_view<8x8xf4E2M1FN, strides=[8,?]>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f4E2M1FN>> %x = make_tensor_view %q, shape = [8, 8], strides = [8, %i] : tile<i32> -> tensor_view<8x8xf4E2M1FN, strides=[8,?]> %y = make_partition_view %x : partition_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[8,?]>> %b = constant <f4E2M1FN: 1.0> : tile<8x8xf4E2M1FN> %0 = store_view_tko weak %b, %y[%i, %i] : tile<8x8xf4E2M1FN>, partition_view<tile=(8x8), tensor_view<8x8xf4E2M1FN, strides=[8,?]>>, tile<i32> -> token
