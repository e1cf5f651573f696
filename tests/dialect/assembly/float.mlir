cuda_tile.module @kernels {
  entry @floats() {
    %cst_f32 = constant <f32: 1.500000e+00> : tile<4xf32>
    %cst_f16 = constant <f16: 1.500000e+00> : tile<4xf16>
    %0 = addf %cst_f32, %cst_f32 rounding<zero> flush_to_zero : tile<4xf32>
    %1 = subf %cst_f32, %0  : tile<4xf32>
    %2 = mulf %cst_f32, %1 rounding<positive_inf> : tile<4xf32>
    %3 = divf %cst_f32, %2 rounding<approx> flush_to_zero : tile<4xf32>
    %4 = fma %cst_f32, %2, %3  : tile<4xf32>
    %5 = remf %cst_f32, %4 : tile<4xf32>
    %6 = maxf %cst_f32, %5 flush_to_zero propagate_nan : tile<4xf32>
    %7 = minf %cst_f32, %6 propagate_nan : tile<4xf32>
    %8 = cmpf less_than ordered %cst_f32, %7 : tile<4xf32> -> tile<4xi1>
    %9 = absf %cst_f16 : tile<4xf16>
    %10 = negf %9 : tile<4xf16>
    %11 = ceil %10 : tile<4xf16>
    %12 = floor %11 : tile<4xf16>
    return
  }
}
