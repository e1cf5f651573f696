cuda_tile.module @kernels {
  entry @folds() {
    %cst_1_f32 = constant <f32: 1.000000e+00> : tile<8x16xf32>
    %cst_1_i32 = constant <i32: 1> : tile<8x16xi32>
    %reduce = reduce %cst_1_f32 dim=1 identities=[0.000000e+00 : f32] : tile<8x16xf32> -> tile<8xf32>
    (%reduce_lhs: tile<f32>, %reduce_rhs: tile<f32>) {
      %1 = addf %reduce_lhs, %reduce_rhs  : tile<f32>
      yield %1 : tile<f32>
    }
    %reduce_0:2 = reduce %cst_1_f32, %cst_1_i32 dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<8x16xf32>, tile<8x16xi32> -> tile<16xf32>, tile<16xi32>
    (%reduce_lhs0: tile<f32>, %reduce_rhs0: tile<f32>, %reduce_lhs1: tile<i32>, %reduce_rhs1: tile<i32>) {
      %1 = cmpf greater_than ordered %reduce_lhs0, %reduce_rhs0 : tile<f32> -> tile<i1>
      %2 = select %1, %reduce_lhs0, %reduce_rhs0 : tile<i1>, tile<f32>
      %3 = select %1, %reduce_lhs1, %reduce_rhs1 : tile<i1>, tile<i32>
      yield %2, %3 : tile<f32>, tile<i32>
    }
    %0 = scan %cst_1_f32 dim=1 reverse=false identities=[0.000000e+00 : f32] : tile<8x16xf32> -> tile<8x16xf32>
    (%arg0: tile<f32>, %arg1: tile<f32>) {
      %1 = addf %arg0, %arg1  : tile<f32>
      yield %1 : tile<f32>
    }
    return
  }
}
