// RUN: tilec opt %s --passes share-loads --target sm_90a
// Tile blocks 2i and 2i + 1 have the same column %j: each loads half of the rows of rhs for both, if the launch has clusters.

!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
!s = tensor<64x128xf32, "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x128">
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sums = arith.constant dense<0.0> : !s
  %map_a = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a, !b]>
  %i = tile_gpu.program_id 0
  %j = tile_gpu.program_id 1
  scf.for %k = %zero to %n step %one : i32 {
    %s:2 = tile_gpu.put_begin %c : channel<[!a, !b]>
    tile_gpu.tma_load %map_a[%k, %i] -> %s#0 of %c : !a
    tile_gpu.tma_load %map_b[%j, %k] -> %s#1 of %c : !b
    tile_gpu.put_commit %c : channel<[!a, !b]>
    %g:2 = tile_gpu.get %c consumer 0 : channel<[!a, !b]>
    %product = tile_gpu.wgmma f16 %g#0, %g#1, %sums : !a, !b -> !s
    %complete = tile_gpu.wgmma_wait %product pending 0 : !s
    tile_gpu.release %c consumer 0 : channel<[!a, !b]>
  }
}

// CHECK: tile_gpu.kernel @k({{.*}}) target "sm_90a" warps 4 joined_programs 2 {
// CHECK: [[WHOLE:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 64]
// CHECK: [[PART:%[0-9a-z_]+]] = tile_gpu.make_tensor_map {{.*}} box [64, 32]
// CHECK: consumers [wgmma] reuse ring across cluster
// CHECK: [[SIZE:%[0-9a-z_]+]] = tile_gpu.cluster_size
// CHECK: [[TWO:%[0-9a-z_]+]] = arith.constant 2 : i32
// CHECK: [[JOINED:%[0-9a-z_]+]] = arith.cmpi eq, [[SIZE]], [[TWO]] : i32
// CHECK: tile_gpu.tma_load [[WHOLE]][{{.*}}] -> {{.*}} : !shared_64x64xf16
// CHECK: tile_gpu.tma_load [[PART]][{{.*}}] multicast along 1 if [[JOINED]] -> {{.*}} : !shared_64x128xf16
