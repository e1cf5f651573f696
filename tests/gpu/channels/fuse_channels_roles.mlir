// RUN: tilec opt %s --passes fuse-channels --target sm_90a
// Channels that one role reads together become one, which that role reads. Those of different roles stay apart.

!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c0 = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a]>
  %c1 = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a]>
  %c2 = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a]>
  %s0 = tile_gpu.put_begin %c0 : channel<[!a]>
  tile_gpu.tma_load %map[%zero, %zero] -> %s0 of %c0 : !a
  tile_gpu.put_commit %c0 : channel<[!a]>
  %s1 = tile_gpu.put_begin %c1 : channel<[!a]>
  tile_gpu.tma_load %map[%zero, %zero] -> %s1 of %c1 : !a
  tile_gpu.put_commit %c1 : channel<[!a]>
  %s2 = tile_gpu.put_begin %c2 : channel<[!a]>
  tile_gpu.tma_load %map[%zero, %zero] -> %s2 of %c2 : !a
  tile_gpu.put_commit %c2 : channel<[!a]>
  %g0 = tile_gpu.get %c0 consumer 0 : channel<[!a]>
  %g1 = tile_gpu.get %c1 consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
  %g2 = tile_gpu.get %c2 consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
  tile_gpu.release %c0 consumer 0 : channel<[!a]>
  tile_gpu.release %c1 consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
  tile_gpu.release %c2 consumer 0 {tile_gpu.role = "compute1"} : channel<[!a]>
}

// CHECK: [[A:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : !channel_64x64xf16
// CHECK: [[B:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : !channel_64x64xf16_64x64xf16
// CHECK: tile_gpu.get [[A]] consumer 0 :
// CHECK: tile_gpu.get [[B]] consumer 0 {tile_gpu.role = "compute1"}
// CHECK: tile_gpu.release [[A]] consumer 0 :
// CHECK: tile_gpu.release [[B]] consumer 0 {tile_gpu.role = "compute1"}
