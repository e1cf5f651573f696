// RUN: tilec opt %s --passes share-loads --target sm_100a
// Only one CTA loads lhs in the branch, so that the CTAs do not multiply as a pair; all load the same rhs by multicast.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[!b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %rank = tile_gpu.cluster_rank
  %first = arith.cmpi eq, %rank, %zero : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.if %first {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%zero, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
  }
  %sb = tile_gpu.put_begin %cb : channel<[!b]>
  tile_gpu.tma_load %map_b[%zero, %n] -> %sb of %cb : !b
  tile_gpu.put_commit %cb : channel<[!b]>
  %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
  %gb = tile_gpu.get %cb consumer 0 : channel<[!b]>
  tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d
  tile_gpu.release %ca consumer 0 : channel<[!a]>
  tile_gpu.release %cb consumer 0 : channel<[!b]>
  tile_gpu.put_commit %cd : channel<[!d]>
  %h = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK-NOT: pair
// CHECK: box [64, 32]
// CHECK: reuse once across cluster : !channel_64x64xf16
// CHECK-NOT: pair
// CHECK: multicast
// CHECK-NOT: pair
