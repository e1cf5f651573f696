// RUN: tilec opt %s --passes share-loads --target sm_100a
// The columns of rhs are the rows of its buffer: their half is a box of half as many rows. The map is used for lhs too,
// whose box stays. The coordinate of the columns is the second one.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!t = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %rows = arith.constant 128 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a, !a]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %rank = tile_gpu.cluster_rank
  %row = arith.muli %rank, %rows : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  %s:2 = tile_gpu.put_begin %c : channel<[!a, !a]>
  tile_gpu.tma_load %map[%zero, %row] -> %s#0 of %c : !a
  tile_gpu.tma_load %map[%zero, %n] -> %s#1 of %c : !a
  tile_gpu.put_commit %c : channel<[!a, !a]>
  %g:2 = tile_gpu.get %c consumer 0 : channel<[!a, !a]>
  %t = tile_gpu.view_buffer %g#1 : !a -> !t
  tile_gpu.tcgen05_mma f16 %g#0, %t into %d accumulate %yes : !a, !t -> !d
  tile_gpu.release %c consumer 0 : channel<[!a, !a]>
  tile_gpu.put_commit %cd : channel<[!d]>
  %h = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: [[WHOLE:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 128]
// CHECK: [[PART:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 64]
// CHECK: tile_gpu.tma_load [[WHOLE]][{{.*}} : !shared_128x64xf16
// CHECK: [[COLUMN:%[0-9a-z_]+]] = arith.addi %arg1, %
// CHECK: tile_gpu.tma_load [[PART]][%{{[0-9a-z_]+}}, [[COLUMN]]] -> {{.*}} : !shared_64x64xf16
// CHECK: view_buffer {{.*}} : !shared_64x64xf16 -> !shared_64x64xf16
// CHECK: tcgen05_mma f16 pair
