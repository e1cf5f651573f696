// RUN: tilec opt %s --passes reuse-channels --target sm_100a
// Multiplies of one loop read equal slots in turn: one ring, whose loads are in the order of the multiplies.

!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<64x64xf32, tensor, lanes=64>
!ab = channel<[!a, !a]>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !ab
  %e = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : !ab
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %s:2 = tile_gpu.put_begin %c : !ab
    %t:2 = tile_gpu.put_begin %e : !ab
    tile_gpu.tma_load %map[%k, %zero] -> %s#0 of %c : !a
    tile_gpu.tma_load %map[%k, %one] -> %t#0 of %e : !a
    tile_gpu.tma_load %map[%zero, %k] -> %s#1 of %c : !a
    tile_gpu.put_commit %c : !ab
    tile_gpu.tma_load %map[%one, %k] -> %t#1 of %e : !a
    tile_gpu.put_commit %e : !ab
    %g:2 = tile_gpu.get %c consumer 0 : !ab
    tile_gpu.tcgen05_mma f16 %g#0, %g#1 into %d accumulate %yes : !a, !a -> !d
    tile_gpu.release %c consumer 0 : !ab
    %h:2 = tile_gpu.get %e consumer 0 : !ab
    tile_gpu.tcgen05_mma f16 %h#0, %h#1 into %d accumulate %yes : !a, !a -> !d
    tile_gpu.release %e consumer 0 : !ab
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %x = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}

// CHECK: [[C:%.*]] = tile_gpu.make_channel {{.*}} producer tma
// CHECK-NOT: producer tma
// CHECK: scf.for
// CHECK-NEXT: [[S:%.*]]:2 = tile_gpu.put_begin [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[S]]#0 of [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[S]]#1 of [[C]]
// CHECK-NEXT: tile_gpu.put_commit [[C]]
// CHECK-NEXT: {{.*}} = tile_gpu.get [[C]]
// CHECK-NEXT: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.release [[C]]
// CHECK-NEXT: [[T:%.*]]:2 = tile_gpu.put_begin [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[T]]#0 of [[C]]
// CHECK-NEXT: tile_gpu.tma_load {{.*}} -> [[T]]#1 of [[C]]
// CHECK-NEXT: tile_gpu.put_commit [[C]]
// CHECK-NEXT: {{.*}} = tile_gpu.get [[C]]
// CHECK-NEXT: tile_gpu.tcgen05_mma
// CHECK: tile_gpu.release [[C]]
