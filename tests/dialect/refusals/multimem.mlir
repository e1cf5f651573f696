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
