// RUN: tilec opt %s --passes partition-roles,pipeline --target sm_100a
// Two blocks on one SM: three slots of 32 KB fit in half of the shared memory, a second accumulator of 256 columns
// does not fit in half of the tensor memory.

!t = buffer<64x128xf16, shared, contiguous=0 swizzle=128B>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x256xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x256xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 attributes {tilec.occupancy = 2 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring : channel<[!d]>
  %a = tile_gpu.shared : !a
  scf.for %i = %zero to %n step %one : i32 {
    %d = tile_gpu.put_begin %cd : channel<[!d]>
    %sb = tile_gpu.put_begin %cb : channel<[!b]>
    tile_gpu.tma_load %map[%i, %zero] -> %sb of %cb : !b
    tile_gpu.put_commit %cb : channel<[!b]>
    %gb = tile_gpu.get %cb consumer 0 : channel<[!b]>
    tile_gpu.tcgen05_mma f16 %a, %gb into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %cb consumer 0 : channel<[!b]>
    tile_gpu.put_commit %cd : channel<[!d]>
    %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
    tile_gpu.release %cd consumer 0 : channel<[!d]>
  }
}

// CHECK: tilec.occupancy = 2
// CHECK: make_channel stages 3 producer tma
// CHECK: make_channel stages 1 producer mma
