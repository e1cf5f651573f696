cuda_tile.module @kernels {
  entry @shapes(%arg0: tile<i32>, %arg1: tile<ptr<f32>>) {
    %cst_f32 = constant <f32: [[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tile<2x2xf32>
    %true = constant <i1: true> : tile<i1>
    %cst_-128_i8 = constant <i8: -128> : tile<8xi8>
    %cst_f32_0 = constant <f32: 0x7FC00000> : tile<2xf32>
    %cst_1_f8E4M3FN = constant <f8E4M3FN: 1.000000e+00> : tile<2x2xf8E4M3FN>
    %cst_i64 = constant <i64: [1, -2, 3, 4]> : tile<4xi64>
    %0 = iota : tile<8xi32>
    %reshape = reshape %0 : tile<8xi32> -> tile<1x8xi32>
    %bcast = broadcast %reshape : tile<1x8xi32> -> tile<4x8xi32>
    %1 = permute %bcast [1, 0] : tile<4x8xi32> -> tile<8x4xi32>
    %2 = cat %1, %1 dim = 1 : tile<8x4xi32>, tile<8x4xi32> -> tile<8x8xi32>
    %3 = extract %2[%arg0, %arg0] : tile<8x8xi32> -> tile<4x2xi32>
    %4 = insert %3, %2[%arg0, %arg0] : tile<4x2xi32>, tile<8x8xi32>
    %5 = cmpi equal %2, %4, unsigned : tile<8x8xi32> -> tile<8x8xi1>
    %6 = select %5, %2, %4 : tile<8x8xi1>, tile<8x8xi32>
    %7 = pack %0 : tile<8xi32> -> tile<32xi8>
    %8 = unpack %7 : tile<32xi8> -> tile<64xi4>
    %reshape_1 = reshape %arg1 : tile<ptr<f32>> -> tile<1xptr<f32>>
    %bcast_2 = broadcast %reshape_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %9 = offset %bcast_2, %0 : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    return
  }
}
