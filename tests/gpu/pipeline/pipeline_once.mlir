// RUN: tilec opt %s --passes pipeline --target sm_100a
// A channel that is used once has one slot.

!t = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring wanted 4 : channel<[!a]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map[%k, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %at = tile_gpu.view_buffer %ga : !a -> !t
    tile_gpu.tcgen05_mma f16 %ga, %at into %d accumulate %yes : !a, !t -> !d
    tile_gpu.release %ca consumer 0 : channel<[!a]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: make_channel stages 4 producer tma
// CHECK: make_channel stages 1 producer mma consumers [threads] reuse once
