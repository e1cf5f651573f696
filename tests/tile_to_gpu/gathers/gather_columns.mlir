// RUN: tilec compile %s --emit gpu-raw --target sm_100a --remarks
// Columns of a row-major tensor are gathered one element at a time: those of a row are not consecutive. Indices of 64 bits
// that exceed the extents, which have 32, become one that is outside of every tensor.

!V = tensor_view<64x1024xf32, strides=[1024,1]>
!G = gather_scatter_view<tile=(16x64), padding_value = zero, !V, sparse_dim=1>
!L = tensor_view<64xi64, strides=[1]>
!I = partition_view<tile=(64), !L>
entry @k(%p: tile<ptr<f32>>, %r: tile<ptr<i64>>, %i: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %a, shape = [64, 1024], strides = [1024, 1] : !V
  %l = make_tensor_view %r, shape = [64], strides = [1] : !L
  %s = make_gather_scatter_view %v : !G
  %e = make_partition_view %l : !I
  %columns, %t0 = load_view_tko weak %e[%zero] : !I, tile<i32> -> tile<64xi64>, token
  %t, %t1 = load_view_tko weak %s[%i, %columns] : !G, tile<i32>, tile<64xi64> -> tile<16x64xf32>, token
  store_view_tko weak %t, %s[%i, %columns] : tile<16x64xf32>, !G, tile<i32>, tile<64xi64> -> token
  return
}

// CHECK: arith.constant dense<2147483648>
// CHECK: arith.minui
// CHECK: [[SCATTERED:%.*]] = arith.trunci
// CHECK: [[GATHERED:%.*]] = arith.trunci
// CHECK: tile_gpu.load_view %arg0{{.*}} indices [[GATHERED]] along 1 vector 1
// CHECK: tile_gpu.store_view {{.*}} indices [[SCATTERED]] along 1
// CHECK: remark: the load does not use TMA: rows are gathered one by one [tma, no estimate]
// CHECK: remark: the store does not use TMA: TMA scatters rows of a matrix, not along dimension 1 of rank 2 [tma, no estimate]
