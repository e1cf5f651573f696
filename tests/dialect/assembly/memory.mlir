cuda_tile.module @kernels {
  entry @pointers(%arg0: tile<ptr<f32>>) {
    %0 = iota : tile<4xi32>
    %reshape = reshape %arg0 : tile<ptr<f32>> -> tile<1xptr<f32>>
    %bcast = broadcast %reshape : tile<1xptr<f32>> -> tile<4xptr<f32>>
    %1 = offset %bcast, %0 : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
    %2 = cmpi less_than %0, %0, signed : tile<4xi32> -> tile<4xi1>
    %cst_0_f32 = constant <f32: 0.000000e+00> : tile<4xf32>
    %3 = make_token : token
    %result, %result_token = load_ptr_tko relaxed device %1, %2, %cst_0_f32 token=%3 : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token
    %result_0, %result_token_1 = load_ptr_tko weak %1 : tile<4xptr<f32>> -> tile<4xf32>, token
    %result_2, %result_token_3 = load_ptr_tko weak %1, %2 optimization_hints = <sm_100 = {latency = 3}> : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token
    %4 = store_ptr_tko weak %1, %result, %2 token=%result_token_3 : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token
    %5 = store_ptr_tko release sys %1, %result_0 : tile<4xptr<f32>>, tile<4xf32> -> token
    %6 = join_tokens %4, %5, %result_token : token
    %7 = alloca num_elem = 64, alignment = 16 global : tile<ptr<f32>>
    %8 = memory_fence_alias_tko %6
    %9 = gdc_launch_dependents_tko token = %8 -> token
    %10 = gdc_wait_tko -> token
    %11 = print_tko "x=%f\0A", %result token=%10 : tile<4xf32> -> token
    %12 = print_tko "hello" -> token
    %cst_0_f32_4 = constant <f32: 0.000000e+00> : tile<f32>
    %true = constant <i1: true> : tile<i1>
    %result_5, %result_token_6 = load_ptr_tko weak %arg0, %cst_0_f32_4 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
    %13 = ptr_to_ptr %arg0 : tile<ptr<f32>> -> tile<ptr<i1>>
    %result_7, %result_token_8 = "cuda_tile.load_ptr_tko"(%13, %true) <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (!cuda_tile.tile<ptr<i1>>, !cuda_tile.tile<i1>) -> (!cuda_tile.tile<i1>, !cuda_tile.token)
    return
  }
}
