// expected-error: expects a view over a multicast tensor_view, but got 'partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>'
%0 = multimem_store_view_tko weak %pv, %f[%i, %i] inbounds = [true, true] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<4x8xf32>, tile<i32> -> token
// -----
// expected-error: expects elements of f16 or bf16 or f32 or f64 or i32 or i64, but got i8
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i8, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xi8, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xi8, strides=[1], #cuda_tile.ptr_attr<multicast>>> %z = constant <i8: 1> : tile<8xi8> %0 = multimem_store_view_tko weak %y, %z[%i] inbounds = [true] : partition_view<tile=(8), tensor_view<8xi8, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xi8>, tile<i32> -> token
// -----
// expected-error: reduction of f32 must be one of: add, but got: min
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %0, %1 = multimem_load_reduce_view_tko weak %y[%i] inbounds = [true] attributes {reduction = #cuda_tile.multimem_reduction_kind<min>} : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: expects a tile of type 'tile<8xf32>', as the view has, but got 'tile<4x8xf32>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %0 = multimem_store_view_tko weak %y, %f[%i] inbounds = [true] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<4x8xf32>, tile<i32> -> token
// -----
// expected-error: expects a tile of a multiple of 4 bytes, but got 1 element(s) of 16 bits
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<8xf16, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(1), tensor_view<8xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>> %0, %1 = multimem_load_reduce_view_tko weak %y[%i] : partition_view<tile=(1), tensor_view<8xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<1xf16>, token
// -----
// expected-error: views of f16 or bf16 need exactly one static unit stride, got 0 in 'tensor_view<8xf16, strides=[2], #cuda_tile.ptr_attr<multicast>>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [2] : tile<ptr<f16, <multicast>>> -> tensor_view<8xf16, strides=[2], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(2), tensor_view<8xf16, strides=[2], #cuda_tile.ptr_attr<multicast>>> %0, %1 = multimem_load_reduce_view_tko weak %y[%i] : partition_view<tile=(2), tensor_view<8xf16, strides=[2], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<2xf16>, token
// -----
// expected-error: expects a view over a multicast tensor_view, but got 'partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>'
%0, %1 = multimem_load_reduce_view_tko weak %pv[%i, %i] inbounds = [true, true] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<i32> -> tile<4x8xf32>, token
// -----
// expected-error: expects a view over a multicast tensor_view, but got 'partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>'
%0 = multimem_reduce_view_tko relaxed device %pv, %f[%i, %i] inbounds = [true, true] : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>, tile<4x8xf32>, tile<i32> -> token
// -----
// expected-error: expects one inbounds flag an index (1), but got 2
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0, %1 = multimem_load_reduce_view_tko weak %y[%i] inbounds = [true, false] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: expects one inbounds flag an index (1), but got 2
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0 = multimem_reduce_view_tko relaxed device %y, %b[%i] inbounds = [true, false] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
// -----
// expected-error: expects one inbounds flag an index (1), but got 2
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0 = multimem_store_view_tko weak %y, %b[%i] inbounds = [true, false] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<8xf32>, tile<i32> -> token
// -----
// expected-error: expected 1 index operands (based on the view), but got 2
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0, %1 = multimem_load_reduce_view_tko weak %y[%i, %i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: expects a tile of type 'tile<8xf32>', as the view has, but got 'tile<f32>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0 = multimem_reduce_view_tko relaxed device %y, %s[%i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<f32>, tile<i32> -> token
// -----
// expected-error: operation specifies weak memory ordering semantics, but then provides "sys" scope, expected no memory scope.
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0, %1 = multimem_load_reduce_view_tko weak sys %y[%i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: memory scope is required for acquire load
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0, %1 = multimem_load_reduce_view_tko acquire %y[%i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf32>, token
// -----
// expected-error: expects a tile of type 'tile<8xf32>', as the view has, but got 'tile<4xf32>'
%q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>> %x = make_tensor_view %q, shape = [8], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>> %y = make_partition_view %x : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>> %b = constant <f32: 1.0> : tile<8xf32> %0, %1 = multimem_load_reduce_view_tko weak %y[%i] : partition_view<tile=(8), tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<4xf32>, token
