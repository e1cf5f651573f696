// RUN: tilec opt %s --passes share-loads --target sm_90a
// Both CTAs load the same rhs: each loads half of its rows for both of them. Each loads its own lhs to the same channel.

!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %rows = arith.constant 64 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a, !b]>
  %rank = tile_gpu.cluster_rank
  %row = arith.muli %rank, %rows : i32
  %s:2 = tile_gpu.put_begin %c : channel<[!a, !b]>
  tile_gpu.tma_load %map[%zero, %row] -> %s#0 of %c : !a
  tile_gpu.tma_load %map[%zero, %n] -> %s#1 of %c : !b
  tile_gpu.put_commit %c : channel<[!a, !b]>
  %g:2 = tile_gpu.get %c consumer 0 : channel<[!a, !b]>
  tile_gpu.release %c consumer 0 : channel<[!a, !b]>
}

// CHECK: [[WHOLE:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 64]
// CHECK: [[PART:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 32]
// CHECK: consumers [wgmma] reuse ring across cluster
// CHECK: tile_gpu.tma_load [[WHOLE]][{{.*}}] -> {{.*}} : !shared_64x64xf16
// CHECK: arith.constant 32 : i32
// CHECK: [[ROW:%[0-9a-z_]+]] = arith.addi %arg1, %
// CHECK: tile_gpu.tma_load [[PART]][%{{[0-9a-z_]+}}, [[ROW]]] multicast -> {{.*}} : !shared_64x128xf16
