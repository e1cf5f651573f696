// RUN: tilec opt %s --passes fuse-channels --target sm_100a
// Two channels that are filled and read together become one, with a slot of two buffers.

!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %ma = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %mb = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %ma[%k, %zero] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %sb = tile_gpu.put_begin %cb : channel<[!b]>
    tile_gpu.tma_load %mb[%zero, %k] -> %sb of %cb : !b
    tile_gpu.put_commit %cb : channel<[!b]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %gb = tile_gpu.get %cb consumer 0 : channel<[!b]>
    tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %ca consumer 0 : channel<[!a]>
    tile_gpu.release %cb consumer 0 : channel<[!b]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: [[C:%.*]] = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !channel_128x64xf16_64x64xf16
// CHECK: scf.for
// CHECK-NEXT: [[S:%.*]]:2 = tile_gpu.put_begin [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[S]]#0 of [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[S]]#1 of [[C]]
// CHECK-NEXT: tile_gpu.put_commit [[C]]
// CHECK-NEXT: [[G:%.*]]:2 = tile_gpu.get [[C]] consumer 0
// CHECK-NEXT: tile_gpu.tcgen05_mma f16 [[G]]#0, [[G]]#1
// CHECK: tile_gpu.release [[C]]
// CHECK-NEXT: }
