// RUN: tilec opt %s --passes make-channels --target sm_100a
// Two scatters use one buffer of tiles and one of indices in turn: the second waits until TMA has read the first tile.

#tile = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#rows = "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!t = tensor<128x64xf16, #tile>
!i = tensor<128xi32, #rows>
!l = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!r = buffer<128xi32, shared, contiguous=0 swizzle=none>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %zero = arith.constant 0 : i32
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero
  %zeros = arith.constant dense<0.0> : !t
  %numbers = arith.constant dense<0> : !i
  %a = tile_gpu.place %numbers : !i -> !r
  %b = tile_gpu.place %zeros : !t -> !l
  tile_gpu.store_tile %b -> %map[%zero] rows %a : !r : !l
  %c = tile_gpu.place %numbers : !i -> !r
  %d = tile_gpu.place %zeros : !t -> !l
  tile_gpu.store_tile %d -> %map[%zero] rows %c : !r : !l
}

// CHECK-COUNT-2: tile_gpu.shared
// CHECK-NOT: tile_gpu.shared
// CHECK-NOT: tile_gpu.place
// CHECK: tile_gpu.store_shared [[TILE:%.*]], [[S:%.*]] :
// CHECK-NEXT: tile_gpu.store_shared {{.*}}, [[R:%.*]] :
// CHECK-NEXT: tile_gpu.fence_async
// CHECK-NEXT: tile_gpu.barrier
// CHECK-NEXT: tile_gpu.tma_store [[S]] -> {{.*}} rows [[R]]
// CHECK-NEXT: tile_gpu.store_wait read
// CHECK-NEXT: tile_gpu.barrier
// CHECK-NEXT: tile_gpu.store_shared {{.*}}, [[S]] :
// CHECK-NEXT: tile_gpu.store_shared {{.*}}, [[R]] :
