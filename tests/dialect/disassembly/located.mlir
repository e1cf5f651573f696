entry @k(%arg0: tile<ptr<f16>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<i32>, %arg5: tile<ptr<f16>>, %arg6: tile<i32>, %arg7: tile<i32>, %arg8: tile<i32>, %arg9: tile<i32>, %arg10: tile<ptr<f16>>, %arg11: tile<i32>, %arg12: tile<i32>, %arg13: tile<i32>, %arg14: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token loc(#loc16)
  %assume = assume div_by<16>, %arg0 : tile<ptr<f16>> loc(#loc17)
  %assume_0 = assume div_by<8>, %arg3 : tile<i32> loc(#loc17)
  %assume_1 = assume div_by<16>, %arg5 : tile<ptr<f16>> loc(#loc18)
  %assume_2 = assume div_by<8>, %arg8 : tile<i32> loc(#loc18)
  %assume_3 = assume div_by<16>, %arg10 : tile<ptr<f16>> loc(#loc19)
  %assume_4 = assume div_by<8>, %arg13 : tile<i32> loc(#loc19)
  %cst_1_i32 = constant <i32: 1> : tile<i32> loc(#loc16)
  %cst_1_i32_5 = constant <i32: 1> : tile<i32> loc(#loc16)
  %cst_1_i32_6 = constant <i32: 1> : tile<i32> loc(#loc16)
  %assume_7 = assume bounded<0, ?>, %arg1 : tile<i32> loc(#loc16)
  %assume_8 = assume bounded<0, ?>, %arg2 : tile<i32> loc(#loc16)
  %assume_assume = assume bounded<0, ?>, %assume_0 : tile<i32> loc(#loc16)
  %assume_assume_assume = assume div_by<8>, %assume_assume : tile<i32> loc(#loc16)
  %tview = make_tensor_view %assume, shape = [%assume_7, %assume_8], strides = [%assume_assume_assume, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]> loc(#loc16)
  %assume_9 = assume bounded<0, ?>, %arg6 : tile<i32> loc(#loc16)
  %assume_10 = assume bounded<0, ?>, %arg7 : tile<i32> loc(#loc16)
  %assume_assume_11 = assume bounded<0, ?>, %assume_2 : tile<i32> loc(#loc16)
  %assume_assume_assume_12 = assume div_by<8>, %assume_assume_11 : tile<i32> loc(#loc16)
  %tview_13 = make_tensor_view %assume_1, shape = [%assume_9, %assume_10], strides = [%assume_assume_assume_12, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]> loc(#loc16)
  %assume_14 = assume bounded<0, ?>, %arg11 : tile<i32> loc(#loc16)
  %assume_15 = assume bounded<0, ?>, %arg12 : tile<i32> loc(#loc16)
  %assume_assume_16 = assume bounded<0, ?>, %assume_4 : tile<i32> loc(#loc16)
  %assume_assume_assume_17 = assume div_by<8>, %assume_assume_16 : tile<i32> loc(#loc16)
  %tview_18 = make_tensor_view %assume_3, shape = [%assume_14, %assume_15], strides = [%assume_assume_assume_17, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]> loc(#loc16)
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32> loc(#loc20)
  %blockId_x_19, %blockId_y_20, %blockId_z_21 = get_tile_block_id : tile<i32> loc(#loc21)
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<128x128xf32> loc(#loc22)
  %pview = make_partition_view %tview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>> loc(#loc23)
  %1:2 = get_index_space_shape %pview : partition_view<tile=(128x64), tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32> loc(#loc23)
  %cst_0_i32 = constant <i32: 0> : tile<i32> loc(#loc24)
  %cst_1_i32_22 = constant <i32: 1> : tile<i32> loc(#loc24)
  %pview_23 = make_partition_view %tview : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> loc(#loc25)
  %pview_24 = make_partition_view %tview_13 : partition_view<tile=(64x128), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> loc(#loc26)
  %for = for %loopIdx in (%cst_0_i32 to %1#1, step %cst_1_i32_22) : tile<i32> iter_values(%iterArg0 = %cst_0_f32) -> (tile<128x128xf32>) {
    %tile, %result_token = load_view_tko weak %pview_23[%blockId_x, %loopIdx] token = %0 : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token loc(#loc25)
    %tile_26, %result_token_27 = load_view_tko weak %pview_24[%loopIdx, %blockId_y_20] token = %0 : partition_view<tile=(64x128), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x128xf16>, token loc(#loc26)
    %4 = mmaf %tile, %tile_26, %iterArg0 : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32> loc(#loc28)
    continue %4 : tile<128x128xf32> loc(#loc27)
  } loc(#loc27)
  %2 = ftof %for  : tile<128x128xf32> -> tile<128x128xf16> loc(#loc29)
  %pview_25 = make_partition_view %tview_18 : partition_view<tile=(128x128), tensor_view<?x?xf16, strides=[?,1]>> loc(#loc30)
  %3 = store_view_tko weak %2, %pview_25[%blockId_x, %blockId_y_20] token = %0 : tile<128x128xf16>, partition_view<tile=(128x128), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token loc(#loc30)
  return loc(#loc15)
} loc(#loc16)
#di_file = #cuda_tile.di_file<"kernels.py" in ".">
#loc = loc("kernels.py":12:0)
#loc1 = loc("kernels.py":12:11)
#loc2 = loc("kernels.py":12:13)
#loc3 = loc("kernels.py":12:15)
#loc4 = loc("kernels.py":13:6)
#loc5 = loc("kernels.py":13:19)
#loc6 = loc("kernels.py":14:8)
#loc7 = loc("kernels.py":15:19)
#loc8 = loc("kernels.py":15:13)
#loc9 = loc("kernels.py":16:10)
#loc10 = loc("kernels.py":17:10)
#loc11 = loc("kernels.py":15:4)
#loc12 = loc("kernels.py":18:12)
#loc13 = loc("kernels.py":19:26)
#loc14 = loc("kernels.py":19:4)
#loc15 = loc(unknown)
#di_compile_unit = #cuda_tile.di_compile_unit<file = #di_file>
#di_subprogram = #cuda_tile.di_subprogram<file = #di_file, line = 11, name = "matmul", linkageName = "k", compileUnit = #di_compile_unit, scopeLine = 11>
#loc16 = #cuda_tile.di_loc<#loc in #di_subprogram>
#loc17 = #cuda_tile.di_loc<#loc1 in #di_subprogram>
#loc18 = #cuda_tile.di_loc<#loc2 in #di_subprogram>
#loc19 = #cuda_tile.di_loc<#loc3 in #di_subprogram>
#loc20 = #cuda_tile.di_loc<#loc4 in #di_subprogram>
#loc21 = #cuda_tile.di_loc<#loc5 in #di_subprogram>
#loc22 = #cuda_tile.di_loc<#loc6 in #di_subprogram>
#loc23 = #cuda_tile.di_loc<#loc7 in #di_subprogram>
#loc24 = #cuda_tile.di_loc<#loc8 in #di_subprogram>
#loc25 = #cuda_tile.di_loc<#loc9 in #di_subprogram>
#loc26 = #cuda_tile.di_loc<#loc10 in #di_subprogram>
#loc27 = #cuda_tile.di_loc<#loc11 in #di_subprogram>
#loc28 = #cuda_tile.di_loc<#loc12 in #di_subprogram>
#loc29 = #cuda_tile.di_loc<#loc13 in #di_subprogram>
#loc30 = #cuda_tile.di_loc<#loc14 in #di_subprogram>
