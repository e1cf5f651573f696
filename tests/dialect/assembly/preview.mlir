cuda_tile.module @kernels {
  entry @calls(%arg0: tile<i32>, %arg1: tile<ptr<f32>>) {
    preview$call @nothing() : () -> ()
    %0 = preview$call @one(%arg0) : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
    %1:2 = preview$call @two(%0, %arg1) {const_args = [4 : i64]} : (!cuda_tile.tile<i32>, !cuda_tile.tile<ptr<f32>>) -> (!cuda_tile.tile<8xf32>, !cuda_tile.token)
    return
  }
}
