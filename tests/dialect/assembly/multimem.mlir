cuda_tile.module @kernels {
  entry @devices(%arg0: tile<ptr<f32, <multicast>>>, %arg1: tile<i32>) {
    %tview = make_tensor_view %arg0, shape = [128, 128], strides = [128, 1] : tile<ptr<f32, <multicast>>> -> tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>
    %pview = make_partition_view %tview : partition_view<tile=(64x64), tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>>
    %reduced_values, %result_token = multimem_load_reduce_view_tko relaxed device %pview[%arg1, %arg1] : partition_view<tile=(64x64), tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<64x64xf32>, token
    %0 = multimem_reduce_view_tko relaxed device %pview, %reduced_values[%arg1, %arg1] token = %result_token : partition_view<tile=(64x64), tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>>, tile<64x64xf32>, tile<i32> -> token
    %1 = multimem_store_view_tko weak %pview, %reduced_values[%arg1, %arg1] inbounds = [true, true] : partition_view<tile=(64x64), tensor_view<128x128xf32, strides=[128,1], #cuda_tile.ptr_attr<multicast>>>, tile<64x64xf32>, tile<i32> -> token
    %2 = ptr_to_ptr %arg0 : tile<ptr<f32, <multicast>>> -> tile<ptr<f16, <multicast>>>
    %tview_0 = make_tensor_view %2, shape = [64], strides = [1] : tile<ptr<f16, <multicast>>> -> tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>
    %pview_1 = make_partition_view %tview_0 : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>
    %reduced_values_2, %result_token_3 = multimem_load_reduce_view_tko weak %pview_1[%arg1] inbounds = [true] attributes {reduction = #cuda_tile.multimem_reduction_kind<max>} : partition_view<tile=(8), tensor_view<64xf16, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<8xf16>, token
    return
  }
}
