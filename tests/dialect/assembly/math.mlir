cuda_tile.module @kernels {
  entry @functions() {
    %cst_f32 = constant <f32: 1.500000e+00> : tile<4xf32>
    %0 = iota : tile<4xi32>
    %1 = sqrt %cst_f32 rounding<approx> flush_to_zero : tile<4xf32>
    %2 = sqrt %1  : tile<4xf32>
    %3 = rsqrt %2 flush_to_zero : tile<4xf32>
    %4 = exp %3 rounding<approx> : tile<4xf32>
    %5 = exp %4  : tile<4xf32>
    %6 = exp2 %5 flush_to_zero : tile<4xf32>
    %7 = log %6 : tile<4xf32>
    %8 = log2 %7 : tile<4xf32>
    %9 = sin %8 : tile<4xf32>
    %10 = cos %9 : tile<4xf32>
    %11 = tan %10 : tile<4xf32>
    %12 = sinh %11 : tile<4xf32>
    %13 = cosh %12 : tile<4xf32>
    %14 = tanh %13 rounding<approx> : tile<4xf32>
    %15 = atan2 %14, %13 : tile<4xf32>
    %16 = fpowf %15, %14 : tile<4xf32>
    %17 = fpowi %16, %0 : tile<4xf32>, tile<4xi32>
    return
  }
}
