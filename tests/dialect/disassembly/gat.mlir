entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %cst_1_i64 = constant <i64: 1> : tile<128xi64>
  %cst_1_i64_1 = constant <i64: 1> : tile<128xi64>
  %cst_1_i64_2 = constant <i64: 1> : tile<128xi64>
  %assume_3 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg4 : tile<i32>
  %cst_128_i32 = constant <i32: 128> : tile<i32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %1 = muli %blockId_x, %cst_128_i32 : tile<i32>
  %2 = iota : tile<128xi32>
  %reshape = reshape %1 : tile<i32> -> tile<1xi32>
  %bcast = broadcast %reshape : tile<1xi32> -> tile<128xi32>
  %3 = addi %bcast, %2 : tile<128xi32>
  %4 = exti %3 signed : tile<128xi32> -> tile<128xi64>
  %5 = exti %assume_3 signed : tile<i32> -> tile<i64>
  %reshape_5 = reshape %5 : tile<i64> -> tile<1xi64>
  %bcast_6 = broadcast %reshape_5 : tile<1xi64> -> tile<128xi64>
  %6 = cmpi less_than %4, %bcast_6, unsigned : tile<128xi64> -> tile<128xi1>
  %7 = muli %4, %cst_1_i64 : tile<128xi64>
  %reshape_7 = reshape %assume : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_8 = broadcast %reshape_7 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %8 = offset %bcast_8, %7 : tile<128xptr<f32>>, tile<128xi64> -> tile<128xptr<f32>>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<f32>
  %reshape_9 = reshape %cst_0_f32 : tile<f32> -> tile<1xf32>
  %bcast_10 = broadcast %reshape_9 : tile<1xf32> -> tile<128xf32>
  %result, %result_token = load_ptr_tko weak %8, %6, %bcast_10 token=%0 : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
  %9 = join_tokens %0, %result_token : token
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %reshape_11 = reshape %cst_2_f32 : tile<f32> -> tile<1xf32>
  %bcast_12 = broadcast %reshape_11 : tile<1xf32> -> tile<128xf32>
  %10 = mulf %result, %bcast_12  : tile<128xf32>
  %11 = exti %3 signed : tile<128xi32> -> tile<128xi64>
  %12 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_13 = reshape %12 : tile<i64> -> tile<1xi64>
  %bcast_14 = broadcast %reshape_13 : tile<1xi64> -> tile<128xi64>
  %13 = cmpi less_than %11, %bcast_14, unsigned : tile<128xi64> -> tile<128xi1>
  %14 = muli %11, %cst_1_i64_1 : tile<128xi64>
  %reshape_15 = reshape %assume_0 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_16 = broadcast %reshape_15 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %15 = offset %bcast_16, %14 : tile<128xptr<f32>>, tile<128xi64> -> tile<128xptr<f32>>
  %16 = store_ptr_tko weak %15, %10, %13 token=%0 : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> token
  %17 = exti %3 signed : tile<128xi32> -> tile<128xi64>
  %18 = exti %assume_4 signed : tile<i32> -> tile<i64>
  %reshape_17 = reshape %18 : tile<i64> -> tile<1xi64>
  %bcast_18 = broadcast %reshape_17 : tile<1xi64> -> tile<128xi64>
  %19 = cmpi less_than %17, %bcast_18, unsigned : tile<128xi64> -> tile<128xi1>
  %20 = muli %17, %cst_1_i64_2 : tile<128xi64>
  %reshape_19 = reshape %assume_0 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast_20 = broadcast %reshape_19 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %21 = offset %bcast_20, %20 : tile<128xptr<f32>>, tile<128xi64> -> tile<128xptr<f32>>
  %22 = join_tokens %16, %9 : token
  %result_21, %result_token_22 = atomic_rmw_tko acq_rel device %21, addf, %result, %19 token=%22 : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> tile<128xf32>, token
  %23 = join_tokens %0, %9, %result_token_22 : token
  %24 = print_tko "hi %f", %result token=%23 : tile<128xf32> -> token
  return
}
