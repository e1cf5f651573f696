// RUN: tilec opt %s --passes share-loads --target sm_90a
// The number of copies depends on the CTA, so that one CTA cannot load for the other one.

!b = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!b]>
  %rank = tile_gpu.cluster_rank
  scf.for %k = %zero to %rank step %one : i32 {
    %s = tile_gpu.put_begin %c : channel<[!b]>
    tile_gpu.tma_load %map[%zero, %n] -> %s of %c : !b
    tile_gpu.put_commit %c : channel<[!b]>
    %g = tile_gpu.get %c consumer 0 : channel<[!b]>
    tile_gpu.release %c consumer 0 : channel<[!b]>
  }
}

// CHECK-NOT: multicast
// CHECK: reuse ring : !channel
// CHECK-NOT: multicast
