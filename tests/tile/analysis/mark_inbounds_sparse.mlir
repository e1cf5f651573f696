// RUN: tilec opt %s --passes mark-inbounds
// Sparse indices are inside of the tensor if each of them is; the dense index counts elements, so its tile may not be.

!V = tensor_view<64x64xf32, strides=[64,1]>
!G = gather_scatter_view<tile=(32x16), !V, sparse_dim=0>
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : !V
  %g = make_gather_scatter_view %v : !G
  %rows = iota : tile<32xi32>
  %moved = constant <i32: 33> : tile<32xi32>
  %others = addi %rows, %moved : tile<32xi32>
  %last = constant <i32: 48> : tile<i32>
  %beyond = constant <i32: 49> : tile<i32>
  %a, %t = load_view_tko weak %g[%rows, %last] : !G, tile<32xi32>, tile<i32> -> tile<32x16xf32>, token
  %b, %u = load_view_tko weak %g[%rows, %beyond] : !G, tile<32xi32>, tile<i32> -> tile<32x16xf32>, token
  %c, %w = load_view_tko weak %g[%others, %last] : !G, tile<32xi32>, tile<i32> -> tile<32x16xf32>, token
  print_tko "%f %f %f\n", %a, %b, %c : tile<32x16xf32>, tile<32x16xf32>, tile<32x16xf32> -> token
  return
}

// CHECK: cst_48_i32] inbounds = [true, true]
// CHECK: cst_49_i32] inbounds = [true, false]
// CHECK: cst_48_i32] inbounds = [false, true]
