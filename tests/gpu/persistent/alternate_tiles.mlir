// RUN: tilec opt %s --passes alternate-tiles --target sm_90a
// Two roles compute alternate tiles of a persistent loop: each gets slots after the other one has got those of its tile,
// stores after the other one has stored, and skips the slots of the other one's tiles. Each has a staging buffer.

#d = "register=(0,1)(8,0)(0,8)(0,16)(0,32) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=64x64"
!d = tensor<64x64xf32, #d>
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=0 swizzle=128B>
!s = buffer<64x64xf32, shared, contiguous=1 swizzle=128B>
!c = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32, %tiles: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sums = arith.constant dense<0.0> : !d
  %m = tile_gpu.make_tensor_map "f32" %p[%n, %n] strides [%n] box [32, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : !c
  %s = tile_gpu.shared : !s
  %block = tile_gpu.program_id 0
  %blocks = tile_gpu.num_programs 0
  tile_gpu.roles compute warps 4 {
    scf.for %tile = %block to %tiles step %blocks : i32 {
      %r = scf.for %k = %zero to %n step %one iter_args(%sum = %sums) -> (!d) : i32 {
        %slot:2 = tile_gpu.get %c consumer 0 : !c
        %x = tile_gpu.wgmma f16 %slot#0, %slot#1, %sum : !a, !b -> !d
        %y = tile_gpu.wgmma_wait %x pending 0 : !d
        tile_gpu.release %c consumer 0 : !c
        scf.yield %y : !d
      }
      tile_gpu.store_wait read
      tile_gpu.barrier
      tile_gpu.store_shared %r, %s : !d -> !s
      tile_gpu.fence_async
      tile_gpu.barrier
      tile_gpu.tma_store %s -> %m[%zero, %tile] : !s
    }
    tile_gpu.store_wait
  } load warps 1 {
  }
}

// CHECK: [[RING:%.*]] = tile_gpu.make_channel stages 1 producer tma
// CHECK-DAG: tile_gpu.shared
// CHECK-DAG: tile_gpu.shared
// CHECK: [[SLOTS:%.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i32
// CHECK: [[END:%.*]] = arith.maxsi %arg2, %c0_i32
// CHECK: [[SECOND:%.*]] = arith.addi [[FIRST:%program_id]], [[STEP:%num_programs]]
// CHECK: [[TWICE:%.*]] = arith.addi [[STEP]], [[STEP]]
// CHECK: [[DOUBLED:%.*]] = arith.minui [[TWICE]], %{{.*}}
// CHECK: [[MULTIPLIED0:%.*]] = tile_gpu.make_channel stages 1 producer threads consumers [threads] reuse once : channel<[]>
// CHECK: [[MULTIPLIED1:%.*]] = tile_gpu.make_channel
// CHECK: [[STORED0:%.*]] = tile_gpu.make_channel
// CHECK: [[STORED1:%.*]] = tile_gpu.make_channel
// CHECK: tile_gpu.roles compute warps 4 {
// CHECK: scf.for [[TILE:%.*]] = [[FIRST]] to [[END]] step [[DOUBLED]] : i32 id {{[0-9]+}} {
// CHECK: [[LATER:%.*]] = arith.cmpi ult, [[FIRST]], [[TILE]]
// CHECK: [[FOLLOWS:%.*]] = arith.cmpi ult, %{{.*}}, [[END]]
// CHECK: scf.if [[LATER]] {
// CHECK-NEXT: tile_gpu.get [[MULTIPLIED0]]
// CHECK: scf.for
// CHECK: tile_gpu.wgmma
// CHECK: scf.if [[FOLLOWS]] {
// CHECK-NEXT: tile_gpu.put_begin [[MULTIPLIED1]]
// CHECK: scf.if [[LATER]] {
// CHECK-NEXT: tile_gpu.get [[STORED0]]
// CHECK: tile_gpu.store_shared %{{.*}}, [[STAGING:%[a-z_0-9]+]]
// CHECK: tile_gpu.tma_store [[STAGING]]
// CHECK-NEXT: tile_gpu.store_wait
// CHECK-NEXT: scf.if [[FOLLOWS]] {
// CHECK-NEXT: tile_gpu.put_begin [[STORED1]]
// CHECK: tile_gpu.skip [[RING]] consumer 0 by [[SLOTS]]
// CHECK: } compute1 warps 4 {
// CHECK: scf.for %{{.*}} = [[SECOND]] to [[END]] step [[DOUBLED]] : i32 id {{[0-9]+}} {
// CHECK: tile_gpu.skip [[RING]] consumer 0 by [[SLOTS]]
// CHECK-NEXT: tile_gpu.get [[MULTIPLIED1]]
// CHECK: tile_gpu.wgmma
// CHECK: tile_gpu.put_begin [[MULTIPLIED0]]
// CHECK: tile_gpu.get [[STORED1]]
// CHECK: tile_gpu.store_shared
// CHECK: tile_gpu.put_begin [[STORED0]]
// CHECK: } load warps 1 {
