// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// By the hint `latency` a ring gets two slots of 32 KB first. The memory of others is that of two more blocks of the SM.

!w = buffer<128x128xf16, shared, contiguous=1 swizzle=128B>
!v = buffer<128x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 attributes {tilec.latency = 2 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ring = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring wanted 4 : channel<[!w]>
  %once = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %once : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %s = tile_gpu.put_begin %ring : channel<[!w]>
    tile_gpu.tma_load %map[%k, %zero] -> %s of %ring : !w
    tile_gpu.put_commit %ring : channel<[!w]>
    %g = tile_gpu.get %ring consumer 0 : channel<[!w]>
    %t = tile_gpu.view_buffer %g : !w -> !v
    tile_gpu.tcgen05_mma f16 %g, %t into %d accumulate %yes : !w, !v -> !d
    tile_gpu.release %ring consumer 0 : channel<[!w]>
  }
  tile_gpu.put_commit %once : channel<[!d]>
  %r = tile_gpu.get %once consumer 0 : channel<[!d]>
  tile_gpu.release %once consumer 0 : channel<[!d]>
}

// CHECK: make_channel stages 2 producer tma
