cuda_tile.module @kernels {
  entry @atomics(%arg0: tile<ptr<i32>>, %arg1: tile<ptr<f32>>) {
    %cst_0_i32 = constant <i32: 0> : tile<i32>
    %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
    %true = constant <i1: true> : tile<i1>
    %result, %result_token = atomic_cas_tko relaxed device %arg0, %cst_0_i32, %cst_0_i32 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %result_0, %result_token_1 = atomic_rmw_tko acq_rel sys %arg1, addf, %cst_1_f32, %true token=%result_token : tile<ptr<f32>>, tile<f32>, tile<i1> -> tile<f32>, token
    %tview = make_tensor_view %arg0, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xi32, strides=[64,1]>
    %pview = make_partition_view %tview : partition_view<tile=(8x8), tensor_view<64x64xi32, strides=[64,1]>>
    %cst_1_i32 = constant <i32: 1> : tile<8x8xi32>
    %0 = atomic_red_view_tko relaxed device %pview[%cst_0_i32, %cst_0_i32], add, %cst_1_i32 token = %result_token_1 inbounds = [true, false] : tile<8x8xi32>, partition_view<tile=(8x8), tensor_view<64x64xi32, strides=[64,1]>>, tile<i32> -> token
    %cst_0_i64 = constant <i64: 0> : tile<i64>
    %pview_2 = make_partition_view %tview : partition_view<tile=(8x8), padding_value = zero, tensor_view<64x64xi32, strides=[64,1]>>
    %1 = atomic_red_view_tko relaxed device %pview_2[%cst_0_i32, %cst_0_i64], add, %cst_1_i32 : tile<8x8xi32>, partition_view<tile=(8x8), padding_value = zero, tensor_view<64x64xi32, strides=[64,1]>>, tile<i32>, tile<i64> -> token
    return
  }
}
