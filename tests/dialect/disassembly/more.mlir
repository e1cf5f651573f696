entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f32>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<4>, %arg3 : tile<i32>
  %assume_1 = assume div_by<16>, %arg5 : tile<ptr<f32>>
  %assume_2 = assume div_by<4>, %arg8 : tile<i32>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_3 = constant <i32: 1> : tile<i32>
  %assume_4 = assume bounded<0, ?>, %arg1 : tile<i32>
  %assume_5 = assume bounded<0, ?>, %arg2 : tile<i32>
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32>
  %assume_assume_assume = assume div_by<4>, %assume_assume : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_4, %assume_5], strides = [%assume_assume_assume, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %assume_6 = assume bounded<0, ?>, %arg6 : tile<i32>
  %assume_7 = assume bounded<0, ?>, %arg7 : tile<i32>
  %assume_assume_8 = assume bounded<0, ?>, %assume_2 : tile<i32>
  %assume_assume_assume_9 = assume div_by<4>, %assume_assume_8 : tile<i32>
  %tview_10 = make_tensor_view %assume_1, shape = [%assume_6, %assume_7], strides = [%assume_assume_assume_9, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %cst_0_i32 = constant <i32: 0> : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x, %cst_0_i32] token = %0 : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<4x16xf32>, token
  %1 = iota : tile<16xi32>
  %reshape = reshape %1 : tile<16xi32> -> tile<1x16xi32>
  %bcast = broadcast %reshape : tile<1x16xi32> -> tile<4x16xi32>
  %reduce:2 = reduce %tile, %bcast dim=1 identities=[0xFF800000 : f32, 0 : i32] : tile<4x16xf32>, tile<4x16xi32> -> tile<4xf32>, tile<4xi32>
  (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
    %17 = cmpf greater_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %18 = cmpf equal ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %19 = cmpf not_equal unordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %20 = cmpf not_equal unordered %reduce_rhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
    %21 = cmpf equal ordered %reduce_lhs0, %reduce_lhs0 : tile<f32> -> tile<i1>
    %22 = andi %21, %20 : tile<i1>
    %23 = ori %17, %22 : tile<i1>
    %24 = andi %19, %20 : tile<i1>
    %25 = ori %18, %24 : tile<i1>
    %26 = cmpi less_than %reduce_lhs1, %reduce_rhs1, signed : tile<i32> -> tile<i1>
    %27 = andi %25, %26 : tile<i1>
    %28 = ori %23, %27 : tile<i1>
    %29 = select %28, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
    %30 = select %28, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
    yield %29, %30 : tile<f32>, tile<i32>
  }
  %cst_-3_i32 = constant <i32: -3> : tile<4xi32>
  %cst_f32 = constant <f32: -1.000000e+00> : tile<4xf32>
  %cst_f16 = constant <f16: 2.500000e+00> : tile<4xf16>
  %true = constant <i1: true> : tile<4xi1>
  %2 = addi %reduce#1, %cst_-3_i32 : tile<4xi32>
  %3 = muli %cst_-3_i32, %cst_-3_i32 : tile<4xi32>
  %4 = select %true, %2, %3 : tile<4xi1>, tile<4xi32>
  %5 = itof %4 signed  : tile<4xi32> -> tile<4xf32>
  %6 = ftof %cst_f16  : tile<4xf16> -> tile<4xf32>
  %7 = fma %5, %cst_f32, %6  : tile<4xf32>
  %cst_f32_11 = constant <f32: 0x7F800000> : tile<f32>
  %reshape_12 = reshape %cst_f32_11 : tile<f32> -> tile<1xf32>
  %bcast_13 = broadcast %reshape_12 : tile<1xf32> -> tile<4xf32>
  %8 = addf %7, %bcast_13  : tile<4xf32>
  %cst_0_i32_14 = constant <i32: 0> : tile<i32>
  %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
  %cst_3_i32 = constant <i32: 3> : tile<i32>
  %cst_0_i32_15 = constant <i32: 0> : tile<i32>
  %cst_1_i32_16 = constant <i32: 1> : tile<i32>
  %cst_2_f32 = constant <f32: 2.000000e+00> : tile<f32>
  %cst_2_i32 = constant <i32: 2> : tile<i32>
  %cst_0_i32_17 = constant <i32: 0> : tile<i32>
  %cst_1_i32_18 = constant <i32: 1> : tile<i32>
  %for:2 = for %loopIdx in (%cst_0_i32_15 to %cst_3_i32, step %cst_1_i32_16) : tile<i32> iter_values(%iterArg0 = %cst_0_i32_14, %iterArg1 = %cst_1_f32) -> (tile<i32>, tile<f32>) {
    %17 = addi %iterArg0, %loopIdx : tile<i32>
    %18 = mulf %iterArg1, %cst_2_f32  : tile<f32>
    %cst_1_i32_30 = constant <i32: 1> : tile<i32>
    %19 = addi %loopIdx, %cst_1_i32_30 : tile<i32>
    %20 = mini %cst_2_i32, %19 signed : tile<i32>
    %21 = maxi %cst_0_i32_17, %19 signed : tile<i32>
    %for_31 = for %loopIdx_33 in (%cst_0_i32_17 to %20, step %cst_1_i32_18) : tile<i32> iter_values(%iterArg0_34 = %18) -> (tile<f32>) {
      continue %iterArg0_34 : tile<f32>
    }
    %for_32 = for %loopIdx_33 in (%21 to %cst_2_i32, step %cst_1_i32_18) : tile<i32> iter_values(%iterArg0_34 = %for_31) -> (tile<f32>) {
      %cst_1_f32_35 = constant <f32: 1.000000e+00> : tile<f32>
      %22 = addf %iterArg0_34, %cst_1_f32_35  : tile<f32>
      continue %22 : tile<f32>
    }
    continue %17, %for_32 : tile<i32>, tile<f32>
  }
  %reshape_19 = reshape %for#1 : tile<f32> -> tile<1xf32>
  %bcast_20 = broadcast %reshape_19 : tile<1xf32> -> tile<4xf32>
  %9 = addf %8, %bcast_20  : tile<4xf32>
  %10 = itof %for#0 signed  : tile<i32> -> tile<f32>
  %reshape_21 = reshape %10 : tile<f32> -> tile<1xf32>
  %bcast_22 = broadcast %reshape_21 : tile<1xf32> -> tile<4xf32>
  %11 = addf %9, %bcast_22  : tile<4xf32>
  %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
  %12 = itof %gridSize_x signed  : tile<i32> -> tile<f32>
  %reshape_23 = reshape %12 : tile<f32> -> tile<1xf32>
  %bcast_24 = broadcast %reshape_23 : tile<1xf32> -> tile<4xf32>
  %13 = addf %11, %bcast_24  : tile<4xf32>
  %cst_0_i32_25 = constant <i32: 0> : tile<i32>
  %cst_0_i32_26 = constant <i32: 0> : tile<i32>
  %14 = extract %tile[%cst_0_i32_25, %cst_0_i32_26] : tile<4x16xf32> -> tile<4x1xf32>
  %cst_0_i32_27 = constant <i32: 0> : tile<i32>
  %reshape_28 = reshape %13 : tile<4xf32> -> tile<4x1xf32>
  %15 = addf %reshape_28, %14  : tile<4x1xf32>
  %pview_29 = make_partition_view %tview_10 : partition_view<tile=(4x1), tensor_view<?x?xf32, strides=[?,1]>>
  %16 = store_view_tko weak %15, %pview_29[%blockId_x, %cst_0_i32_27] token = %0 : tile<4x1xf32>, partition_view<tile=(4x1), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}
