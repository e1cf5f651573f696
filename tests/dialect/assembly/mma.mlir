cuda_tile.module @kernels {
  entry @matrices() {
    %cst_1_f8E4M3FN = constant <f8E4M3FN: 1.000000e+00> : tile<16x32xf8E4M3FN>
    %cst_1_f8E4M3FN_0 = constant <f8E4M3FN: 1.000000e+00> : tile<32x8xf8E4M3FN>
    %cst_0_f32 = constant <f32: 0.000000e+00> : tile<16x8xf32>
    %0 = mmaf %cst_1_f8E4M3FN, %cst_1_f8E4M3FN_0, %cst_0_f32 fast_acc : tile<16x32xf8E4M3FN>, tile<32x8xf8E4M3FN>, tile<16x8xf32>
    %cst_1_f8E8M0FNU = constant <f8E8M0FNU: 1.000000e+00> : tile<16x1xf8E8M0FNU>
    %cst_1_f8E8M0FNU_1 = constant <f8E8M0FNU: 1.000000e+00> : tile<1x8xf8E8M0FNU>
    %1 = mmaf_scaled %cst_1_f8E4M3FN, %cst_1_f8E4M3FN_0, %cst_0_f32, %cst_1_f8E8M0FNU, %cst_1_f8E8M0FNU_1 : tile<16x32xf8E4M3FN>, tile<32x8xf8E4M3FN>, tile<16x8xf32>, tile<16x1xf8E8M0FNU>, tile<1x8xf8E8M0FNU>
    %cst_1_i8 = constant <i8: 1> : tile<2x16x32xi8>
    %cst_1_i8_2 = constant <i8: 1> : tile<2x32x8xi8>
    %cst_0_i32 = constant <i32: 0> : tile<2x16x8xi32>
    %2 = mmai %cst_1_i8, %cst_1_i8_2, %cst_0_i32 signed unsigned : tile<2x16x32xi8>, tile<2x32x8xi8>, tile<2x16x8xi32>
    %cst_1_tf32 = constant <tf32: 1.000000e+00> : tile<16x16xtf32>
    %cst_0_f32_3 = constant <f32: 0.000000e+00> : tile<16x16xf32>
    %3 = mmaf %cst_1_tf32, %cst_1_tf32, %cst_0_f32_3 : tile<16x16xtf32>, tile<16x16xtf32>, tile<16x16xf32>
    return
  }
}
