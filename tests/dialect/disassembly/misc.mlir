entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>, %arg4: tile<i32>, %arg5: tile<i32>) optimization_hints=<default = {}> {
  %0 = make_token : token
  %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_0 = assume div_by<16>, %arg3 : tile<ptr<f32>>
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %cst_1_i32_1 = constant <i32: 1> : tile<i32>
  %cst_3_i32 = constant <i32: 3> : tile<128xi32>
  %cst_7_i32 = constant <i32: 7> : tile<128xi32>
  %cst_2_i32 = constant <i32: 2> : tile<128xi32>
  %assume_2 = assume bounded<0, ?>, %arg1 : tile<i32>
  %tview = make_tensor_view %assume, shape = [%assume_2], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %assume_3 = assume bounded<0, ?>, %arg4 : tile<i32>
  %tview_4 = make_tensor_view %assume_0, shape = [%assume_3], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %pview = make_partition_view %tview : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%blockId_x] token = %0 : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
  %cst_f32 = constant <f32: 5.000000e-01> : tile<f32>
  %reshape = reshape %cst_f32 : tile<f32> -> tile<1xf32>
  %bcast = broadcast %reshape : tile<1xf32> -> tile<128xf32>
  %1 = cmpf greater_than ordered %tile, %bcast : tile<128xf32> -> tile<128xi1>
  %2 = sin %tile : tile<128xf32>
  %3 = tanh %tile  : tile<128xf32>
  %4 = select %1, %2, %3 : tile<128xi1>, tile<128xf32>
  %5 = ftoi %4 signed  : tile<128xf32> -> tile<128xi32>
  %6 = divi %5, %cst_3_i32 signed rounding<negative_inf> : tile<128xi32>
  %7 = remi %6, %cst_7_i32 signed : tile<128xi32>
  %cst_0_i32 = constant <i32: 0> : tile<128xi32>
  %8 = cmpi less_than %7, %cst_0_i32, signed : tile<128xi32> -> tile<128xi1>
  %9 = cmpi less_than %cst_7_i32, %cst_0_i32, signed : tile<128xi32> -> tile<128xi1>
  %10 = xori %8, %9 : tile<128xi1>
  %11 = cmpi not_equal %7, %cst_0_i32, signed : tile<128xi32> -> tile<128xi1>
  %12 = andi %10, %11 : tile<128xi1>
  %13 = addi %7, %cst_7_i32 : tile<128xi32>
  %14 = select %12, %13, %7 : tile<128xi1>, tile<128xi32>
  %cst_3_i32_5 = constant <i32: 3> : tile<i32>
  %15 = cmpi greater_than %blockId_x, %cst_3_i32_5, signed : tile<i32> -> tile<i1>
  %16 = if %15 -> (tile<128xi32>) {
    %32 = iota : tile<128xi32>
    %33 = addi %14, %32 : tile<128xi32>
    yield %33 : tile<128xi32>
  } else {
    %32 = muli %14, %cst_2_i32 : tile<128xi32>
    yield %32 : tile<128xi32>
  }
  %cst_0_i32_6 = constant <i32: 0> : tile<i32>
  %cst_1_i32_7 = constant <i32: 1> : tile<i32>
  %17 = loop iter_values(%arg6 = %cst_0_i32_6) : tile<i32> -> tile<i32> {
    %32 = cmpi greater_than %arg6, %blockId_x, signed : tile<i32> -> tile<i1>
    if %32 {
      break %arg6 : tile<i32>
    } else {
    }
    %33 = addi %arg6, %cst_1_i32_7 : tile<i32>
    continue %33 : tile<i32>
  }
  %18 = itof %16 signed  : tile<128xi32> -> tile<128xf32>
  %reshape_8 = reshape %18 : tile<128xf32> -> tile<2x64xf32>
  %19 = permute %reshape_8 [1, 0] : tile<2x64xf32> -> tile<64x2xf32>
  %reshape_9 = reshape %19 : tile<64x2xf32> -> tile<128xf32>
  %20 = scan %4 dim=0 reverse=false identities=[0.000000e+00 : f32] : tile<128xf32> -> tile<128xf32>
  (%arg6: tile<f32>, %arg7: tile<f32>) {
    %32 = addf %arg6, %arg7  : tile<f32>
    yield %32 : tile<f32>
  }
  %21 = addf %reshape_9, %20  : tile<128xf32>
  %22 = minf %tile, %4 : tile<128xf32>
  %23 = sqrt %tile  : tile<128xf32>
  %24 = fma %22, %23, %21  : tile<128xf32>
  %25 = exp2 %tile : tile<128xf32>
  %26 = rsqrt %4 : tile<128xf32>
  %27 = divf %25, %26  : tile<128xf32>
  %28 = subf %24, %27  : tile<128xf32>
  %29 = itof %17 signed  : tile<i32> -> tile<f32>
  %reshape_10 = reshape %29 : tile<f32> -> tile<1xf32>
  %bcast_11 = broadcast %reshape_10 : tile<1xf32> -> tile<128xf32>
  %30 = addf %28, %bcast_11  : tile<128xf32>
  %pview_12 = make_partition_view %tview_4 : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %31 = store_view_tko weak %30, %pview_12[%blockId_x] token = %0 : tile<128xf32>, partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
