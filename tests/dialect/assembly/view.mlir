cuda_tile.module @kernels {
  entry @views(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>) {
    %tview = make_tensor_view %arg0, shape = [%arg1, 64], strides = [%arg2, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[?,1]>
    %tview_0 = make_tensor_view %arg0, shape = [], strides = [] : tensor_view<f32>
    %pview = make_partition_view %tview : partition_view<tile=(4x2), padding_value = nan, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]>
    %sview = make_strided_view %tview : strided_view<tile=(4x2), traversal_strides=[4,3], tensor_view<?x64xf32, strides=[?,1]>>
    %gsview = make_gather_scatter_view %tview : gather_scatter_view<tile=(8x16), tensor_view<?x64xf32, strides=[?,1]>, sparse_dim=0>
    %0:2 = get_tensor_shape %tview : tensor_view<?x64xf32, strides=[?,1]> -> tile<i64>
    %1:2 = get_index_space_shape %pview : partition_view<tile=(4x2), padding_value = nan, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]> -> tile<i32>
    %tile, %result_token = load_view_tko weak %pview[%arg1, %arg1] optimization_hints = <sm_100 = {allow_tma = false, latency = 3}> inbounds = [true, false] : partition_view<tile=(4x2), padding_value = nan, tensor_view<?x64xf32, strides=[?,1]>, dim_map=[1, 0]>, tile<i32> -> tile<4x2xf32>, token
    %cst_1_i64 = constant <i64: 1> : tile<8xi64>
    %tile_1, %result_token_2 = load_view_tko relaxed sys %gsview[%cst_1_i64, %arg1] token = %result_token : gather_scatter_view<tile=(8x16), tensor_view<?x64xf32, strides=[?,1]>, sparse_dim=0>, tile<8xi64>, tile<i32> -> tile<8x16xf32>, token
    %2 = store_view_tko weak %tile, %sview[%0#0, %0#1] token = %result_token_2 : tile<4x2xf32>, strided_view<tile=(4x2), traversal_strides=[4,3], tensor_view<?x64xf32, strides=[?,1]>>, tile<i64> -> token
    return
  }
}
