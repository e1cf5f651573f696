// RUN: tilec opt %s --passes pipeline --target sm_100a
// A slot is in use for the latency of its loads and of the multiply. Iterations of %short take 512 cycles of shared memory,
// those of %long 768, so that its ring wants fewer slots. The ring of the outer loop wants one slot to load while
// the inner loop reads the other.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!w = buffer<128x128xf16, shared, contiguous=1 swizzle=128B>
!v = buffer<128x128xf16, shared, contiguous=0 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %short = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a, !b]>
  %long = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!w]>
  %outer = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!w]>
  %once = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %once : channel<[!d]>
  scf.for %i = %zero to %n step %one : i32 {
    %q = tile_gpu.put_begin %outer : channel<[!w]>
    tile_gpu.tma_load %map[%zero, %i] -> %q of %outer : !w
    tile_gpu.put_commit %outer : channel<[!w]>
    scf.for %k = %zero to %n step %one : i32 {
      %s:2 = tile_gpu.put_begin %short : channel<[!a, !b]>
      tile_gpu.tma_load %map[%k, %zero] -> %s#0 of %short : !a
      tile_gpu.tma_load %map[%k, %zero] -> %s#1 of %short : !b
      tile_gpu.put_commit %short : channel<[!a, !b]>
      %g:2 = tile_gpu.get %short consumer 0 : channel<[!a, !b]>
      tile_gpu.tcgen05_mma f16 %g#0, %g#1 into %d accumulate %yes : !a, !b -> !d
      tile_gpu.release %short consumer 0 : channel<[!a, !b]>
    }
    scf.for %j = %zero to %n step %one : i32 {
      %s = tile_gpu.put_begin %long : channel<[!w]>
      tile_gpu.tma_load %map[%j, %zero] -> %s of %long : !w
      tile_gpu.put_commit %long : channel<[!w]>
      %g = tile_gpu.get %long consumer 0 : channel<[!w]>
      %t = tile_gpu.view_buffer %g : !w -> !v
      tile_gpu.tcgen05_mma f16 %g, %t into %d accumulate %yes : !w, !v -> !d
      tile_gpu.release %long consumer 0 : channel<[!w]>
    }
    %g = tile_gpu.get %outer consumer 0 : channel<[!w]>
    tile_gpu.release %outer consumer 0 : channel<[!w]>
  }
  tile_gpu.put_commit %once : channel<[!d]>
  %r = tile_gpu.get %once consumer 0 : channel<[!d]>
  tile_gpu.release %once consumer 0 : channel<[!d]>
}

// CHECK: reuse ring wanted 5 : !channel_128x64xf16_64x128xf16
// CHECK: reuse ring wanted 4 : !channel_128x128xf16
// CHECK: reuse ring wanted 2 : !channel_128x128xf16
// CHECK: producer mma consumers [threads] reuse once : !channel_128x128xf32
