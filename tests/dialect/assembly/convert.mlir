cuda_tile.module @kernels {
  entry @conversions(%arg0: tile<ptr<f32>>) {
    %cst_f32 = constant <f32: 1.500000e+00> : tile<4xf32>
    %cst_7_i32 = constant <i32: 7> : tile<4xi32>
    %0 = bitcast %cst_f32 : tile<4xf32> -> tile<4xi32>
    %1 = exti %cst_7_i32 signed : tile<4xi32> -> tile<4xi64>
    %2 = trunci %1 overflow<no_unsigned_wrap> : tile<4xi64> -> tile<4xi8>
    %3 = trunci %1 : tile<4xi64> -> tile<4xi16>
    %4 = ftof %cst_f32  : tile<4xf32> -> tile<4xf16>
    %5 = ftof %cst_f32 rounding<zero> : tile<4xf32> -> tile<4xf8E8M0FNU>
    %6 = ftoi %cst_f32 signed  : tile<4xf32> -> tile<4xi32>
    %7 = ftoi %cst_f32 unsigned  saturating : tile<4xf32> -> tile<4xi8>
    %8 = itof %cst_7_i32 unsigned  : tile<4xi32> -> tile<4xf32>
    %9 = ptr_to_int %arg0 : tile<ptr<f32>> -> tile<i64>
    %10 = int_to_ptr %9 : tile<i64> -> tile<ptr<f32>>
    %11 = ptr_to_ptr %10 : tile<ptr<f32>> -> tile<ptr<i8>>
    %12 = ptr_to_ptr %10 : tile<ptr<f32>> -> tile<ptr<f32, <multicast>>>
    return
  }
}
