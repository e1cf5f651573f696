cuda_tile.module @kernels {
  entry @branches(%arg0: tile<i1>, %arg1: tile<i32>) {
    %cst_1_f32 = constant <f32: 1.000000e+00> : tile<f32>
    %cst_0_i32 = constant <i32: 0> : tile<i32>
    %cst_1_i32 = constant <i32: 1> : tile<i32>
    if %arg0 {
      assert %arg0, "bad" : tile<i1>
    }
    if %arg0 {
      return
    } else {
    }
    %0 = if %arg0 -> (tile<f32>) {
      yield %cst_1_f32 : tile<f32>
    } else {
      yield %cst_1_f32 : tile<f32>
    }
    %for = for unsigned %loopIdx in (%cst_0_i32 to %arg1, step %cst_1_i32) : tile<i32> iter_values(%iterArg0 = %cst_1_f32) -> (tile<f32>) {
      if %arg0 {
        continue %iterArg0 : tile<f32>
      }
      continue %iterArg0 : tile<f32>
    }
    for %loopIdx in (%cst_0_i32 to %arg1, step %cst_1_i32) : tile<i32> {
    }
    %1:2 = loop iter_values(%arg2 = %cst_1_f32, %arg3 = %cst_0_i32) : tile<f32>, tile<i32> -> tile<i32>, tile<f32> {
      if %arg0 {
        break %arg3, %arg2 : tile<i32>, tile<f32>
      }
      continue %arg2, %arg3 : tile<f32>, tile<i32>
    }
    loop {
      break
    }
    %2 = loop : tile<f32> {
      break %cst_1_f32 : tile<f32>
    }
    loop iter_values(%arg2 = %cst_1_f32) : tile<f32> {
      if %arg0 {
        return
      }
      continue %arg2 : tile<f32>
    }
    return
  }
}
