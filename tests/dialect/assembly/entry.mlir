cuda_tile.module @kernels attributes {producer = "me 1.0"} {
  global private constant @tab alignment = 16 <f32: [1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tile<4xf32>
  global @one <i32: 42> : tile<1xi32>
  entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32> {cuda_tile.foo = 3 : i32}) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {
    %0 = get_global @tab : tile<ptr<f32>>
    %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
    %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
    %assume = assume div_by<16>, %arg0 : tile<ptr<f32>>
    %assume_0 = assume bounded<0, ?>, %arg1 : tile<i32>
    %cst_0_i32 = constant <i32: 0> : tile<8x16xi32>
    %assume_cst_0_i32 = assume div_by<16, every 4 along 1>, %cst_0_i32 : tile<8x16xi32>
    %assume_assume_cst_0_i32 = assume same_elements<[8, 1]>, %assume_cst_0_i32 : tile<8x16xi32>
    return
  } {tilec.signature = "{}"}
}
